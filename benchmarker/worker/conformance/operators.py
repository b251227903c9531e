"""Checks of single operators: forward and gradients against the float64 reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.result import Measurement, compare, worst
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    fetch_outputs,
    reference_program,
    require_same_parameters,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Gradients = tuple[float, dict[str, Array]]
    """The loss, and the gradient of each parameter."""


def _programs(case: OperatorCase, subject: Subject, mode: str) -> tuple[Graph, Program, Program]:
    """Return the graph of a case with the framework's program and the reference's."""
    graph = case.graph(training=mode == "training")
    parameters, _ = case.values(graph, subject.seed)
    program = subject.program(graph, parameters, mode)
    require_same_parameters(program, graph, parameters)
    return graph, program, reference_program(graph, parameters, mode)


def _batches(case: OperatorCase, graph: Graph, seed: int) -> Iterator[dict[str, Array]]:
    """Yield two mini-batches: the second shows what a program keeps of the first."""
    for number in (seed, seed + 1):
        _, batch = case.values(graph, number)
        yield batch


def _forward(case: OperatorCase, subject: Subject) -> Measurement:
    graph, program, reference = _programs(case, subject, "inference")
    tolerance = subject.tolerance(graph)
    return worst(
        compare(
            fetch_outputs(program, graph, program.load(batch)),
            fetch_outputs(reference, graph, reference.load(batch)),
            tolerance,
        )
        for batch in _batches(case, graph, subject.seed)
    )


def _gradient(case: OperatorCase, subject: Subject) -> Measurement:
    graph, program, reference = _programs(case, subject, "training")
    tolerance = subject.tolerance(graph)
    return worst(
        _compared(
            program.gradients(program.load(batch)), reference.gradients(reference.load(batch)), tolerance
        )
        for batch in _batches(case, graph, subject.seed)
    )


def _compared(found: Gradients, expected: Gradients, tolerance: float) -> Measurement:
    off = abs(found[0] - expected[0]) / max(abs(expected[0]), 1.0)
    if not off <= tolerance:
        return Measurement(off, tolerance, f"the loss is {found[0]}, expected {expected[0]}")
    return compare(found[1], expected[1], tolerance)


def operator_checks() -> tuple[Check, ...]:
    """Return a forward and a gradient check for each case."""
    forward = (Check(f"forward/{case.path}", partial(_forward, case)) for case in OPERATOR_CASES)
    # Where an operator bends any subgradient is right: see the checks of ties.
    unique = (
        case for case in OPERATOR_CASES if all(o.values != "zeros" for o in case.named_operands().values())
    )
    gradient = (Check(f"gradient/{case.path}", partial(_gradient, case)) for case in unique)
    return (*forward, *gradient)
