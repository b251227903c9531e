"""Problems that are files: a Python file or an ONNX model runs, is verified, and is told by its content."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.analysis.charts import breakdown
from benchmarker.analysis.text.factors import specification_factors
from benchmarker.api.framework import Device
from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import PluginError, UsageError
from benchmarker.execution.import_roots import import_roots
from benchmarker.experiment.spec import RunSpec, specification
from benchmarker.orchestration.references import reference_path
from benchmarker.worker.job import RunJob
from benchmarker.worker.loading import load_problem
from tests.conftest import Command
from tests.support.onnx_models import KEPT
from tests.support.records import make_record

SOURCE = '''
"""One matrix product."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.api.problem import Problem


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


def job_of(value: str) -> RunJob:
    return RunJob("benchmarker.plugins.numpy", Device("cpu"), 1, 0, value, {}, "inference", 2, "fp32")


def test_a_python_file_is_a_problem_under_its_name(file: Path) -> None:
    problem = registry.problem(str(file))
    assert problem.name == "mine.py"
    assert problem.graph(2, units=3).types["fc"].shape == (2, 3)
    entry = registry.find("problems", str(file))
    assert load_problem(entry.value).graph(2).types["fc"].shape == (2, 6)


def test_another_content_is_another_problem_with_another_reference(file: Path) -> None:
    value, first = registry.find("problems", str(file)).value, registry.problem(str(file))
    packages = import_roots((value,))
    before = reference_path(file.parent, job_of(value), packages)
    assert before == reference_path(file.parent, job_of(value), packages)
    file.write_text(SOURCE.replace("units: int = 6", "units: int = 7"))
    changed = registry.find("problems", str(file)).value
    assert reference_path(file.parent, job_of(changed), packages) != before
    assert registry.problem(str(file)).semantics == load_problem(changed).semantics != first.semantics
    with pytest.raises(UsageError, match=r"'mine\.py' must stay as it is"):
        load_problem(value)  # a worker does not run another content than the one that is recorded


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def broken(:", r"SyntaxError: .*[^)] \(broken\.py, line 1\)$"),
        ("import benchmarker", r" defines no function 'benchmarker_problem'$"),
        (
            "def benchmark_problem():\n    return 3",
            r"'benchmarker_problem'; did you mean 'benchmark_problem'\?$",
        ),
        (
            "def benchmarker_problem():\n    return 3",
            r" returned int from benchmarker_problem\(\), not Problem$",
        ),
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


@pytest.mark.framework
def test_both_kinds_run_and_are_verified(command: Command, file: Path) -> None:
    model = KEPT / "torch_convolutional.onnx"
    options = ("--framework=numpy", "--steps=3", "--warmup=1", "--json")
    done = command("run", f"--problem=onnx:{model},{file}", "--mode=inference", *options)
    assert done.status == 0, done.stderr
    records = done.records
    assert [r["problem"]["name"] for r in records] == ["onnx:torch_convolutional.onnx", "mine.py"]
    assert [r["verification"]["status"] for r in records] == ["passed", "passed"]
    trained = command(
        "run", f"--problem=onnx:{model}", "--mode=training", "--set=loss=softmax_cross_entropy", *options
    )
    assert trained.status == 0, trained.stderr
    assert trained.records[0]["verification"]["status"] == "passed"


@pytest.mark.framework
def test_show_tells_what_a_model_is(command: Command) -> None:
    model = KEPT / "torch_recurrent.onnx"
    shown = command("show", f"onnx:{model}", "--json")
    assert shown.status == 0, shown.stderr
    assert '"operator": "lstm"' in shown.stdout
    assert '"source": "pytorch' in shown.stdout


@pytest.mark.framework
def test_a_model_without_its_loss_is_not_trained(command: Command) -> None:
    model = KEPT / "torch_convolutional.onnx"
    refused = command("run", "--framework=numpy", f"--problem=onnx:{model}", "--mode=training")
    assert refused.status == 2
    assert "loss" in refused.stderr


@pytest.mark.framework
def test_weights_are_those_of_the_model(command: Command) -> None:
    from benchmarker.data.values import draw_parameters

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", command.environment["BENCHMARKER_HOME"])
        graph = registry.problem(f"onnx:{KEPT / 'keras_dense_torch.onnx'}").graph(2)
    first, second = draw_parameters(graph, 0), draw_parameters(graph, 1)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert any(np.ptp(array) > 0 for array in first.values())


# --- what a record tells of a file -------------------------------------------------------------------

SHORT = ("--framework=numpy", "--mode=inference", "--batch-size=2", "--steps=3", "--warmup=1")
MODEL = "keras_dense_torch.onnx"


@pytest.fixture
def places(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders, each with the same model and Python file; the first is the working directory."""
    folders = command.folder, tmp_path_factory.mktemp("elsewhere")
    for folder in folders:
        shutil.copy(KEPT / MODEL, folder)
        (folder / "mine.py").write_text(SOURCE)
    return folders


def texts(value: Any) -> list[str]:
    """Return every text in a JSON value."""
    if isinstance(value, dict):
        return [text for member in value.values() for text in texts(member)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@pytest.mark.framework
def test_a_record_has_the_name_and_the_digest_of_a_file_and_no_folder(
    command: Command, places: tuple[Path, Path]
) -> None:
    _, elsewhere = places
    problems = f"--problem=onnx:{elsewhere / MODEL},{elsewhere / 'mine.py'}"
    done = command("run", problems, *SHORT, "--anonymous", "--json")
    assert done.status == 0, done.stderr
    for record, name in zip(done.records, (f"onnx:{MODEL}", "mine.py")):
        stated = (record["problem"]["name"], record["specification"]["problem"])
        assert (*stated, record["comparable"]["keys"]["problem"]) == (name,) * 3
        content = digest(elsewhere / name.removeprefix("onnx:"))
        assert record["specification"]["problem_digest"] == content
        assert record["problem"]["distribution"].endswith(f"file {content}")
        assert f"--problem={name}" in record["command"]
        assert [text for text in texts(record) if str(elsewhere) in text] == []


@pytest.mark.framework("numpy")
def test_an_error_and_a_log_of_an_anonymous_run_have_no_folder_either(command: Command, file: Path) -> None:
    file.write_text(SOURCE.replace("x = net.input", "print(__file__)\n    x = net.inptu"))
    done = command("run", f"--problem={file}", *SHORT, "--anonymous")
    assert "mine.py" in done.stderr
    file.write_text(SOURCE.replace("x = net.input", "print(__file__)\n    x = net.input"))
    done = command("run", f"--problem={file}", *SHORT, "--anonymous")
    assert done.status == 0, done.stderr
    (log,) = (command.folder / "results").glob("*.log")
    assert "mine.py" in log.read_text()
    assert str(file.parent) not in log.read_text()


@pytest.mark.framework
def test_an_exported_model_and_a_comparison_have_no_folder(
    command: Command, places: tuple[Path, Path]
) -> None:
    path = places[1] / "mine.py"
    exported = command("export", str(path), "-o", "mine.onnx", "--batch-size=2", "--json")
    assert exported.status == 0, exported.stderr
    assert json.loads(exported.stdout)["problem"] == "mine.py"
    content = (command.folder / "mine.onnx").read_bytes()
    assert b"mine.py" in content
    assert str(path.parent).encode() not in content
    model = f"--problem=onnx:{path.with_name(MODEL)}"
    asked = ("--framework=numpy", "--size=reduced", "--optimizer=sgd", "--set=loss=mean_squared_error")
    verified = command("verify", model, *asked, "--json")
    assert verified.status == 0, verified.stderr
    assert json.loads(verified.stdout)["problem"] == f"onnx:{MODEL}"
    assert str(path.parent) not in verified.stdout


@pytest.mark.framework
def test_a_command_has_the_path_from_the_working_directory(
    command: Command, places: tuple[Path, Path]
) -> None:
    here, elsewhere = places
    (here / "inner").mkdir()
    shutil.move(here / "mine.py", here / "inner")
    for path, told in ((here / "inner" / "mine.py", "inner/mine.py"), (elsewhere / "mine.py",) * 2):
        done = command("run", f"--problem={path}", *SHORT, "--set=units=3", "--json")
        assert done.status == 0, done.stderr
        (record,) = done.records
        assert f"--problem={told}" in record["command"]
        assert "--set=mine.py.units=3" in record["command"]
        again = command(*record["command"][3:], "--json")
        assert again.status == 0, again.stderr
        assert again.records[0]["specification"] == {
            **record["specification"],
            "framework_version": record["framework"]["version"],
        }


@pytest.mark.framework
def test_the_same_file_at_two_places_is_the_same_problem(command: Command, places: tuple[Path, Path]) -> None:
    here, elsewhere = places
    problems = [f"--problem=onnx:{folder / MODEL}" for folder in (here, elsewhere)]
    first, second = (command("run", problem, *SHORT, "--json").records[0] for problem in problems)
    assert first["comparable"] == second["comparable"]
    assert first["specification"] == second["specification"]
    resumed = command("run", problems[1], *SHORT, "--resume", "--json")
    assert resumed.records == []


@pytest.mark.framework("numpy")
def test_another_content_is_not_resumed(command: Command, file: Path) -> None:
    done = command("run", f"--problem={file}", *SHORT, "--json")
    assert done.status == 0, done.stderr
    file.write_text(SOURCE + "# changed\n")
    again = command("run", f"--problem={file}", *SHORT, "--resume", "--json")
    assert len(again.records) == 1
    assert again.records[0]["comparable"]["hash"] != done.records[0]["comparable"]["hash"]


# --- running it again --------------------------------------------------------------------------------


def rerun(command: Command, *options: str) -> Any:
    return command("rerun", "last", "--env=current", "--repeats=1", "--json", *options)


@pytest.mark.framework
@pytest.mark.parametrize("name", [f"onnx:{MODEL}", "mine.py"])
def test_a_file_is_found_by_its_name_or_where_it_is_said_to_be(
    name: str, command: Command, places: tuple[Path, Path]
) -> None:
    here, elsewhere = places
    done = command("run", f"--problem={name}", *SHORT, "--anonymous", "--quiet")
    assert done.status == 0, done.stderr
    found = rerun(command)
    assert found.status == 4, found.stderr  # one process tells nothing, but it ran
    assert json.loads(found.stdout)["verdict"] == "cannot tell"
    file = name.removeprefix("onnx:")
    (here / file).unlink()
    missing = rerun(command)
    assert missing.status == 2
    assert f"'{name}' is a file that must be in the working directory or be named with --problem" in " ".join(
        missing.stderr.split()
    )
    for path in (elsewhere, elsewhere / file):
        assert rerun(command, f"--problem={path}").status == 4


@pytest.mark.framework("numpy")
def test_a_file_of_another_content_is_not_run_again(command: Command, places: tuple[Path, Path]) -> None:
    here, _ = places
    assert command("run", "--problem=mine.py", *SHORT, "--quiet").status == 0
    before = len(list((command.folder / "results").glob("*.json")))
    (here / "mine.py").write_text(SOURCE + "open('ran', 'w')\n")
    refused = rerun(command)
    assert refused.status == 2
    assert "must have the recorded contents, sha256:" in " ".join(refused.stderr.split())
    assert len(list((command.folder / "results").glob("*.json"))) == before
    assert not (here / "ran").exists()


@pytest.mark.framework("numpy")
def test_a_record_leads_to_no_file_outside_of_the_working_directory(
    command: Command, places: tuple[Path, Path]
) -> None:
    here, elsewhere = places
    assert command("run", f"--problem={elsewhere / 'mine.py'}", *SHORT, "--quiet").status == 0
    (here / "mine.py").unlink()
    refused = rerun(command)
    assert refused.status == 2
    assert "is a file that must be in the working directory" in " ".join(refused.stderr.split())


def test_reading_a_record_runs_no_file_of_the_name_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE + "open('ran', 'w')\n")
    record = make_record()
    record["problem"] |= {"name": "mine.py", "parameters": {"units": 6}}
    asked = {
        **specification(RunSpec("numpy", ProblemReference("mine.py"))),
        "problem_parameters": {"units": 7},
    }
    assert breakdown._nodes(record) == ()
    assert specification_factors([asked])[0].texts == ("mine.py",)
    assert not (tmp_path / "ran").exists()
