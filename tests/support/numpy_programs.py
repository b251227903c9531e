"""Programs of the reference and results of its operators, for the tests of what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph, walk
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase

Array = npt.NDArray[Any]


def build(
    graph: Graph,
    parameters: dict[str, Array],
    *,
    mode: str = "training",
    precision: str = "fp64",
    optimizer: Optimizer = Optimizer(),
    seed: int = 0,
) -> NumpyProgram:
    """Return a program of the reference, in float64 if nothing else is asked for."""
    framework = NumpyFramework()
    framework.configure(Device("cpu"), threads=1, seed=seed)
    return framework.build(
        graph,
        parameters,
        mode=mode,
        device=Device("cpu"),
        precision=precision,
        optimizer=optimizer,
        options=None,
    )


def cases(*operators: str) -> pytest.MarkDecorator:
    """Return the decorator that gives a test each case of these operators."""
    chosen = [case for case in OPERATOR_CASES if case.operator in operators]
    assert {case.operator for case in chosen} == set(operators)
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.path)


def results(case: OperatorCase) -> tuple[dict[str, Array], tuple[Array, ...]]:
    """Return the operands of a case in float64, and what the reference makes of them."""
    graph = case.graph(training=False)
    parameters, batch = case.values(graph, seed=5)
    drawn = {**parameters, **batch}
    values = {
        name: drawn[name].astype(np.float64) if drawn[name].dtype.kind == "f" else drawn[name]
        for name in case.named_operands()
    }
    found = walk(graph, NumpyOperators(), values)
    return values, tuple(found[name] for name in graph.outputs)
