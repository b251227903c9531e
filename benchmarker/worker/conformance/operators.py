"""Checks of single operators: forward and gradients against the float64 reference."""

from __future__ import annotations

from functools import partial

from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.result import Measurement, compare
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    fetch_outputs,
    reference_program,
    require_same_parameters,
)


def _forward(case: OperatorCase, subject: Subject) -> Measurement:
    graph = case.graph(training=False)
    parameters, batch = case.values(graph, subject.seed)
    program = subject.program(graph, parameters, "inference")
    require_same_parameters(program, graph, parameters)
    reference = reference_program(graph, parameters, "inference")
    return compare(
        fetch_outputs(program, graph, program.load(batch)),
        fetch_outputs(reference, graph, reference.load(batch)),
        subject.tolerance(graph),
    )


def _gradient(case: OperatorCase, subject: Subject) -> Measurement:
    graph = case.graph(training=True)
    parameters, batch = case.values(graph, subject.seed)
    program = subject.program(graph, parameters, "training")
    require_same_parameters(program, graph, parameters)
    reference = reference_program(graph, parameters, "training")
    loss, gradients = program.gradients(program.load(batch))
    expected_loss, expected = reference.gradients(reference.load(batch))
    tolerance = subject.tolerance(graph)
    found = compare(gradients, expected, tolerance)
    off = abs(loss - expected_loss) / max(abs(expected_loss), 1.0)
    if not off <= tolerance:
        return Measurement(off, tolerance, f"the loss is {loss}, expected {expected_loss}")
    return found


def operator_checks() -> tuple[Check, ...]:
    """Return a forward and a gradient check for each case."""
    forward = (Check(f"forward/{case.path}", partial(_forward, case)) for case in OPERATOR_CASES)
    # Where an operator bends any subgradient is right: see the checks of ties.
    unique = (
        case for case in OPERATOR_CASES if all(o.values != "zeros" for o in case.named_operands().values())
    )
    gradient = (Check(f"gradient/{case.path}", partial(_gradient, case)) for case in unique)
    return (*forward, *gradient)
