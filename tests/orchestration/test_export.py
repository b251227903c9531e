"""``export``: models that are written, checked and run for real, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.execution import isolated
from benchmarker.orchestration.jobs.export_onnx import ExportRequest, export
from tests.conftest import ROOT, Command
from tests.support.framework_process import answer

RESNET = ("resnet50", "--set=image_size=32", "--batch-size=2")
MLP = ("mnist_mlp", "--batch-size=4")

DESCRIBE = """
import json, sys
import numpy as np, onnx, onnxruntime

path, batch = sys.argv[1], int(sys.argv[2])
onnx.checker.check_model(path, full_check=True)
model = onnx.load(path)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
feed = {
    i.name: np.zeros([batch if isinstance(s, str) else s for s in i.shape], np.int64 if "int" in i.type else np.float32)
    for i in session.get_inputs()
}
print(json.dumps({
    "producer": [model.producer_name, model.producer_version],
    "metadata": {p.key: p.value for p in model.metadata_props},
    "opset": [[o.domain, o.version] for o in model.opset_import],
    "nodes": [n.name for n in model.graph.node],
    "inputs": {i.name: i.shape for i in session.get_inputs()},
    "outputs": {o.name: list(np.shape(v)) for o, v in zip(session.get_outputs(), session.run(None, feed))},
    "locations": sorted({e.value for t in onnx.load(path, load_external_data=False).graph.initializer
                         for e in t.external_data if e.key == "location"}),
}))
"""


REPLAY = """
import json, sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1] + ".onnx")
with np.load(sys.argv[1] + ".npz", allow_pickle=False) as kept:
    found = session.run(None, {i.name: kept[i.name] for i in session.get_inputs()})
    print(json.dumps({
        o.name: bool(np.allclose(value, kept[o.name], rtol=1e-4, atol=1e-5) and np.std(value) > 0)
        for o, value in zip(session.get_outputs(), found)
    }))
"""


def described(path: Path, batch: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = answer("onnxruntime", "-c", DESCRIBE, str(path), str(batch))
    return found


def test_a_network_is_written_checked_and_run(command: Command, cache_home: Path) -> None:
    finished = command("export", *RESNET, "-o", "r.onnx", "--seed=7", "--json")
    assert finished.status == 0, finished.stderr
    assert finished.stderr == ""
    report = json.loads(finished.stdout)
    assert report["files"] == ["r.onnx", "r.npz"]
    assert report["opset"] == 23
    assert report["inputs"] == {"image": [2, 3, 32, 32]}
    assert report["outputs"] == {"classifier": [2, 1000]}
    sizes = [(command.folder / name).stat().st_size for name in report["files"]]
    assert sizes[0] > 4 * report["parameters"]
    assert report["bytes"] == sum(sizes)
    (tensor,) = report["tensors"]
    assert tensor["passed"]
    assert 0 < tensor["max_relative_error"] < tensor["tolerance"] < 1e-3
    assert sorted(path.name for path in command.folder.iterdir()) == ["r.npz", "r.onnx"]
    assert answer("onnxruntime", "-c", REPLAY, str(command.folder / "r")) == {"classifier": True}

    model = described(command.folder / "r.onnx")
    assert model["producer"][0] == "benchmarker"
    assert model["metadata"]["problem"] == "resnet50"
    assert model["metadata"]["seed"] == "7"
    assert model["metadata"]["parameter.image_size"] == "32"
    assert model["opset"] == [["", 23]]
    assert len(model["nodes"]) == len(set(model["nodes"])) == report["nodes"]
    assert {"stem.conv", "classifier"} & set(model["nodes"])


@pytest.mark.framework
@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("bert_base", ("--set=layers=1", "--set=hidden=32", "--set=heads=2")),
        ("llama", ()),
        ("unet", ()),
        ("lstm_char", ()),
    ],
)
def test_problems_of_every_kind_agree_with_the_reference(
    command: Command, problem: str, options: tuple[str, ...]
) -> None:
    from benchmarker import registry

    reduced = [f"--set={name}={value}" for name, value in registry.problem(problem).reduced.items()]
    finished = command(
        "export", problem, *reduced, "--batch-size=2", "-o", "m.onnx", "--mode=training", "--json"
    )
    assert finished.status == 0, finished.stderr
    report = json.loads(finished.stdout)
    assert len(report["tensors"]) == len(report["outputs"]) == 2  # the loss is one
    assert all(tensor["passed"] for tensor in report["tensors"])


def test_a_mini_batch_of_any_size_is_compared_at_two(command: Command, cache_home: Path) -> None:
    finished = command("export", *MLP, "--dynamic-batch", "-o", "m.onnx", "--json")
    report = json.loads(finished.stdout)
    assert report["inputs"] == {"image": ["batch", 784]}
    assert [tensor["batch_size"] for tensor in report["tensors"]] == [4, 1]
    model = described(command.folder / "m.onnx", batch=3)
    assert model["inputs"] == {"image": ["batch", 784]}
    assert model["outputs"] == {next(iter(report["outputs"])): [3, 10]}
    assert model["metadata"]["batch_size"] == "any"


@pytest.mark.framework
def test_people_are_told_what_was_written(command: Command) -> None:
    finished = command("export", *MLP, "-o", "m.onnx")
    first, example, second, *_, last = finished.stdout.splitlines()
    assert [first, example] == ["wrote m.onnx", "wrote m.npz"]
    assert "opset 23" in second
    assert "109,386 parameters" in second
    assert last.startswith("    largest error ")
    assert "computing the reference" in finished.stderr
    assert max(map(len, finished.stdout.splitlines())) <= 80


@pytest.mark.framework
def test_a_file_that_is_there_is_replaced_only_when_asked_to(command: Command) -> None:
    target = command.folder / "m.onnx"
    target.write_text("mine")
    refused = command("export", *MLP, "-o", "m.onnx")
    assert refused.status == 2
    assert refused.stderr == (
        "benchmarker: 'm.onnx' already exists; choose another name, or replace it with --force\n"
    )
    assert target.read_text() == "mine"
    assert command("export", *MLP, "-o", "m.onnx", "--force", "--no-verify", "--quiet").status == 0
    assert target.stat().st_size > 400_000
    assert [path.name for path in command.folder.iterdir()] == ["m.onnx"]


def test_a_seed_keeps_the_rule_of_the_option_from_python_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seed must be a whole number from 0 to 4294967295, got 4294967296"):
        export(ExportRequest("mnist_mlp", tmp_path / "m.onnx", seed=2**32))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mnist_mlp", "-o", "m.pb"), "the file of a model must end in .onnx, got 'm.pb'"),
        (("mnist_mlp", "-o", "no/m.onnx"), "the folder of the model must exist, got 'no'; make it first"),
        (("mnist_mpl", "-o", "m.onnx"), "unknown problem 'mnist_mpl'; did you mean 'mnist_mlp'?"),
        (("mnist_mlp", "-o", "m.onnx", "--set=hiden=4"), "problem 'mnist_mlp' has no parameter 'hiden'"),
        (("mnist_mlp", "-o", "m.onnx", "--batch-size=0"), "got 0"),
        (
            ("mnist_mlp", "-o", "m.onnx", "--seed=-1"),
            "--seed must be a whole number from 0 to 4294967295, got -1",
        ),
        (("conv2d", "-o", "m.onnx", "--mode=training", "--set=groups=1,2"), "export takes one value"),
        (
            ("deepspeech2", "-o", "m.onnx", "--mode=training"),
            "framework 'onnxruntime' has no ctc_loss (nodes ctc_loss_1): problem 'deepspeech2' cannot run on it",
        ),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    command: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    finished = command("export", *arguments)
    assert finished.status in (1, 2)
    assert sentence in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert list(command.folder.iterdir()) == []


def planted(folder: Path, file: str, right: str, wrong: str) -> Path:
    """Return a folder with our package, one line of which is wrong."""
    shutil.copytree(
        ROOT / "benchmarker", folder / "benchmarker", ignore=shutil.ignore_patterns("__pycache__")
    )
    path = folder / "benchmarker" / file
    text = path.read_text()
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong))
    return folder


FAULTS = {
    "a sigmoid in the place of a hyperbolic tangent": (
        "graph/onnx/writer/elementwise.py",
        'self._add("Tanh", x)',
        'self._add("Sigmoid", x)',
    ),
    "weights that are not those of the seed": (
        "graph/onnx/writer/model.py",
        "tensor.raw_data = _little_endian(values[tensor.name])",
        "tensor.raw_data = _little_endian(values[tensor.name][::-1])",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_model_is_found_and_not_left_behind(
    tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    source = planted(tmp_path / "source", *FAULTS[fault])
    # The worker alone imports the faulty copy.
    monkeypatch.setattr(isolated, "import_roots", lambda values: {"benchmarker": str(source)})
    monkeypatch.setenv("BENCHMARKER_HOME", str(cache_home))
    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(BenchmarkerError, match="the model was not written: in ONNX Runtime its output"):
        export(ExportRequest("dcgan", target / "m.onnx", {"width": 0.05}, batch_size=2))
    assert list(target.iterdir()) == []


LARGE = """
import json, sys
from pathlib import Path
import numpy as np
from benchmarker.graph.onnx.writer.lowering import lower
from benchmarker.graph.onnx.writer.model import check_file, make_model, write_model
from benchmarker.plugins.onnxruntime.model_file import run_file
from benchmarker.data import values
from benchmarker.worker.loading import load_problem

graph = load_problem("benchmarker.problems.mnist_mlp").graph(2).without_loss()
parameters, batch = values.draw_parameters(graph, 0), values.draw_batch(graph, 0)
found = []
for name, largest in (("one", 2**31), ("two", 1000)):
    path = Path(sys.argv[1]) / f"{name}.onnx"
    files = write_model(make_model(graph, lower(graph)), parameters, path, largest)
    check_file(path)
    found.append(([file.name for file in files], run_file(path, {"batch": batch}, 1)["batch"][0]))
print(json.dumps([[files for files, _ in found], bool(np.array_equal(found[0][1], found[1][1]))]))
"""


def test_the_parameters_of_a_large_model_are_a_file_of_their_own(tmp_path: Path, cache_home: Path) -> None:
    files, equal = answer("onnxruntime", "-c", LARGE, str(tmp_path))
    assert files == [["one.onnx"], ["two.onnx", "two.onnx.data"]]
    assert equal
    assert (tmp_path / "two.onnx").stat().st_size < 10_000
    assert described(tmp_path / "two.onnx", batch=2)["locations"] == ["two.onnx.data"]
