"""ONNX models for the tests: kept exports of other frameworks, and ones made by the package ``onnx`` itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem
from benchmarker.data import values
from benchmarker.graph.graph import Graph
from benchmarker.plugins.numpy.framework import NumpyFramework
from tests.support.framework_process import output

KEPT = Path(__file__).resolve().parents[1] / "data" / "onnx_models"


def make(script: str, folder: Path) -> None:
    """Run a script where ``onnx`` is; it finds the folder in ``sys.argv[1]``."""
    output("onnxruntime", "-c", script, str(folder))


PARSED = """
import json, sys
import numpy as np
import onnx, onnxruntime
from onnx import parser

folder = sys.argv[1]
generator = np.random.default_rng(0)
with open(folder + "/models.json") as file:
    models = json.load(file)
for name, (text, run) in models.items():
    header = '<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 3]> '
    model = parser.parse_model(header + text)
    onnx.checker.check_model(model)
    onnx.save(model, f"{folder}/{name}.onnx")
    if not run:
        continue
    arrays = {}
    for given in model.graph.input:
        shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
        kind = given.type.tensor_type.elem_type
        if kind == 1:
            arrays[given.name] = generator.normal(size=shape).astype(np.float32)
        elif kind == 9:
            arrays[given.name] = generator.random(shape) < 0.6
            arrays[given.name][-1] = False
        else:
            arrays[given.name] = generator.integers(0, 3, shape).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = [
        np.array([list(row.values()) for row in y]) if isinstance(y, list) else y  # maps from labels to scores
        for y in session.run(None, arrays)
    ]
    np.savez(f"{folder}/{name}.npz", **arrays, **{f"output{i}": y for i, y in enumerate(results)})
"""


def parsed(models: Mapping[str, str], not_run: Mapping[str, str] | None = None) -> Path:
    """Return a folder of models written as text, each with inputs and what ONNX Runtime makes of these beside it."""
    folder = Path(mkdtemp(prefix="benchmarker-test-"))
    rows = {name: (text, name in models) for name, text in {**models, **(not_run or {})}.items()}
    (folder / "models.json").write_text(json.dumps(rows))
    make(PARSED, folder)
    return folder


def assert_as_onnx_runtime(path: Path, *, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Hold what the reference makes of a parsed model to what ONNX Runtime did."""
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        arrays: dict[str, Any] = {key: data[key] for key in data.files}
    problem = problem_of(path)
    graph = problem.graph(problem.batch_size)
    program = numpy_program(graph, "inference")
    batch = {i.name: arrays[i.name].astype(i.type.dtype) for i in graph.inputs}
    results = program.fetch(program.infer(program.load(batch)))
    assert len(results) == sum(name.startswith("output") for name in arrays)
    for place, found in enumerate(results):
        assert found.shape == arrays[f"output{place}"].shape
        np.testing.assert_allclose(found, arrays[f"output{place}"], rtol=rtol, atol=atol)


@cache
def handmade() -> Path:
    """Return the folder of the models that ``make_handmade.py`` writes."""
    folder = Path(mkdtemp(prefix="benchmarker-test-"))
    output("onnxruntime", str(KEPT / "make_handmade.py"), str(folder))
    return folder


def problem_of(path: Path) -> Problem:
    """Return the model as a problem, as the command line gets it."""
    return registry.problem(f"onnx:{path}")


def arrays_of(path: Path) -> dict[str, Any]:
    """Return the input of a model and what its own framework makes of it, ``y``."""
    name = path.stem.removesuffix("_older")
    with np.load(path.with_name(f"{name}.npz"), allow_pickle=False) as data:
        return {key: data[key] for key in data.files}


def graph_of(path: Path, **values_: Any) -> Graph:
    """Return the graph for the kept input; sizes that are asked for are those of its second axis."""
    problem, (sample,) = problem_of(path), [a for n, a in arrays_of(path).items() if n != "y"]
    asked = {name: sample.shape[1] for name in problem.configure({}) if name != "loss"}
    return problem.graph(len(sample), **{**asked, **values_})


def numpy_program(graph: Graph, mode: str, precision: str = "fp32") -> Any:
    """Return the graph as a program of the reference, with the weights that are stored."""
    return NumpyFramework().build(
        graph if mode == "training" else graph.without_loss(),
        values.draw_parameters(graph, 0),
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=Optimizer(),
        options=None,
    )


def computed(path: Path) -> Any:
    """Return what the imported model makes of the kept input."""
    graph = graph_of(path)
    program = numpy_program(graph, "inference")
    samples = [array for name, array in arrays_of(path).items() if name != "y"]
    batch = {declared.name: sample for declared, sample in zip(graph.inputs, samples)}
    (output,) = program.fetch(program.infer(program.load(batch)))
    return output
