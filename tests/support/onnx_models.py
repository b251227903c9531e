"""ONNX models for the tests: kept exports of other frameworks, and ones made by the package ``onnx`` itself."""

from __future__ import annotations

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
