"""Checks of single operators: forward and gradients against the float64 reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarker.worker.conformance.case_checks import CaseMeasure, CaseProgram
from benchmarker.worker.conformance.cases import OPERATOR_CASES, OperatorCase
from benchmarker.worker.conformance.result import Measurement, compare, worst
from benchmarker.worker.conformance.subject import Check, Subject, fetch_outputs, require_same_parameters

_BATCHES = 2
"""The second mini-batch shows what a program keeps of the first."""


def _over_batches(
    compared: Callable[[CaseProgram, Subject, int], list[Measurement]],
    mode: str,
    cases: Sequence[OperatorCase],
    subject: Subject,
) -> list[Measurement]:
    """Return the worst that was found of each case over the mini-batches."""
    graphs = [case.graph(training=mode == "training") for case in cases]
    built = CaseProgram.build(cases, graphs, subject, mode)
    require_same_parameters(built.program, built.graph, built.parameters)
    rounds = [compared(built, subject, subject.seed + number) for number in range(_BATCHES)]
    return list(map(worst, zip(*rounds)))


def _outputs_compared(built: CaseProgram, subject: Subject, seed: int) -> list[Measurement]:
    batches = built.batches(seed)
    found = built.parts(fetch_outputs(built.program, built.graph, built.load(batches)))
    expected = [
        fetch_outputs(reference, graph, reference.load(batch))
        for reference, graph, batch in zip(built.references, built.graphs, batches)
    ]
    return list(map(compare, found, expected, map(subject.tolerance, built.graphs)))


def _gradients_compared(built: CaseProgram, subject: Subject, seed: int) -> list[Measurement]:
    batches = built.batches(seed)
    loss, gradients = built.program.gradients(built.load(batches))
    exact = [
        reference.gradients(reference.load(batch)) for reference, batch in zip(built.references, batches)
    ]
    tolerances = list(map(subject.tolerance, built.graphs))
    fault = _loss_fault(loss, [expected for expected, _ in exact], min(tolerances))
    if fault is not None:
        return [fault] * len(exact)
    return list(map(compare, built.parts(gradients), (expected for _, expected in exact), tolerances))


def _loss_fault(loss: float, expected: Sequence[float], tolerance: float) -> Measurement | None:
    """Return what is wrong with the sum of losses, which may be off by no more than any one of them may."""
    total = sum(expected)
    off = abs(loss - total) / min(max(abs(each), 1.0) for each in expected)
    if off <= tolerance:
        return None
    return Measurement(off, tolerance, f"the loss is {loss}, expected {total}")


_FORWARD = partial(_over_batches, _outputs_compared, "inference")
_GRADIENT = partial(_over_batches, _gradients_compared, "training")


def operator_checks() -> tuple[Check, ...]:
    """Return a forward and a gradient check for each case."""
    forward = (Check(f"forward/{case.path}", CaseMeasure(case, _FORWARD)) for case in OPERATOR_CASES)
    # Where an operator bends any subgradient is right: see the checks of ties.
    unique = (
        case for case in OPERATOR_CASES if all(o.values != "zeros" for o in case.named_operands().values())
    )
    gradient = (Check(f"gradient/{case.path}", CaseMeasure(case, _GRADIENT)) for case in unique)
    return (*forward, *gradient)
