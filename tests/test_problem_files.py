"""Problems that are files: a Python file or an ONNX model runs, is verified, and is told by its content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.errors import PluginError, UsageError
from benchmarker.packages import package_folders
from benchmarker.references import reference_path
from benchmarker.worker.job import Job, load_problem
from tests.conftest import Command
from tests.onnx_made import KEPT

SOURCE = '''
"""One matrix product."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.problem import Problem


@dataclass(frozen=True)
class Parameters:
    """How wide it is."""

    units: int = 6


def build(net, parameters):
    x = net.input("x", (4,))
    net.output(net.dense("fc", x, parameters.units))


def benchmarker_problem():
    return Problem("mine", "a test", "nowhere", Parameters, build)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A problem of one's own."""
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def job_of(value: str) -> Job:
    return Job("run", "benchmarker.plugins.numpy", value, mode="inference", batch_size=2)


def test_a_python_file_is_a_problem_under_its_path(file: Path) -> None:
    problem = registry.problem(str(file))
    assert problem.name == str(file)
    assert problem.graph(2, units=3).types["fc"].shape == (2, 3)
    entry = registry.find("problems", str(file))
    assert load_problem(entry.value).graph(2).types["fc"].shape == (2, 6)


def test_another_content_is_another_problem_with_another_reference(file: Path) -> None:
    value, first = registry.find("problems", str(file)).value, registry.problem(str(file))
    packages = package_folders((value,))
    before = reference_path(file.parent, job_of(value), packages)
    assert before == reference_path(file.parent, job_of(value), packages)
    file.write_text(SOURCE.replace("units: int = 6", "units: int = 7"))
    assert reference_path(file.parent, job_of(value), packages) != before
    assert load_problem(value).semantics != first.semantics


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def broken(:", "SyntaxError"),
        ("x = 1", "benchmarker_problem"),
        ("def benchmarker_problem():\n    return 3", "returned int"),
    ],
)
def test_a_broken_file_is_told_in_one_sentence(source: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(PluginError, match=told) as error:
        registry.problem(str(path))
    assert "\n" not in str(error.value)


def test_a_file_that_is_absent_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be a file that is there"):
        registry.find("problems", str(tmp_path / "absent.py"))


def test_both_kinds_run_and_are_verified(command: Command, file: Path) -> None:
    model = KEPT / "torch_convolutional.onnx"
    options = ("--framework=numpy", "--steps=3", "--warmup=1", "--json")
    done = command("run", f"--problem=onnx:{model},{file}", "--mode=inference", *options)
    assert done.status == 0, done.stderr
    records = done.records
    assert [r["problem"]["name"] for r in records] == [f"onnx:{model}", str(file)]
    assert [r["verification"]["status"] for r in records] == ["passed", "passed"]
    trained = command(
        "run", f"--problem=onnx:{model}", "--mode=training", "--set=loss=softmax_cross_entropy", *options
    )
    assert trained.status == 0, trained.stderr
    assert trained.records[0]["verification"]["status"] == "passed"


def test_show_tells_what_a_model_is(command: Command) -> None:
    model = KEPT / "torch_recurrent.onnx"
    shown = command("show", f"onnx:{model}", "--json")
    assert shown.status == 0, shown.stderr
    assert '"operator": "lstm"' in shown.stdout
    assert '"source": "pytorch' in shown.stdout


def test_a_model_without_its_loss_is_not_trained(command: Command) -> None:
    model = KEPT / "torch_convolutional.onnx"
    refused = command("run", "--framework=numpy", f"--problem=onnx:{model}", "--mode=training")
    assert refused.status == 2
    assert "loss" in refused.stderr


def test_weights_are_those_of_the_model(command: Command) -> None:
    from benchmarker.worker.values import draw_parameters

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", command.environment["BENCHMARKER_HOME"])
        graph = registry.problem(f"onnx:{KEPT / 'keras_dense_torch.onnx'}").graph(2)
    first, second = draw_parameters(graph, 0), draw_parameters(graph, 1)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert any(np.ptp(array) > 0 for array in first.values())
