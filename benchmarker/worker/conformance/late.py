"""Checks of later calls: a program may be right at first, and wrong once it keeps results or stops its updates."""

from __future__ import annotations

import itertools
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.worker.conformance.programs import network_without_dropout, small_network
from benchmarker.worker.conformance.result import NETWORK_TOLERANCE, CheckFailed, Measurement, compare, worst
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)
from benchmarker.worker.conformance.synchronization import heavy_network
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.findings import FAILED
from benchmarker.worker.verification.further_steps import FurtherSteps
from benchmarker.worker.verification.timing_again import unseen_check

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_CALLS = 24
"""Calls of inference, each on another mini-batch, and each compared: enough to meet each twentieth."""
_TIMED_CALLS = 12
_STEPS, _FOLLOWED_STEPS = 8, 12
"""Training steps that nobody looks at, and those after them that are followed: enough to meet each tenth step."""
_CHANGE_TOLERANCE = 1e-3
"""Share of how far a step moves a parameter: float32 loses bits of a step that is small against the value."""


def _infer(subject: Subject) -> Measurement:
    graph = small_network().without_loss()
    parameters = draw_parameters(graph, subject.seed)
    program = subject.program(graph, parameters, "inference")
    reference = reference_program(graph, parameters, "inference")
    found = []
    for call in range(_CALLS):
        batch = draw_batch(graph, subject.seed + call)
        outputs = fetch_outputs(program, graph, program.load(batch))
        expected = fetch_outputs(reference, graph, reference.load(batch))
        found.append(compare(outputs, expected, NETWORK_TOLERANCE))
    return worst(found)


def _train(subject: Subject) -> Measurement:
    """Follow steps from the framework's own weights; the last is of a mini-batch that was seen, at other weights."""
    graph, optimizer = network_without_dropout(), Optimizer("sgd", learning_rate=0.1)
    program = subject.program(graph, draw_parameters(graph, subject.seed), "training", optimizer)
    for step in range(_STEPS):
        program.synchronize(program.train_step(program.load(draw_batch(graph, subject.seed + step))))
    seeds = [*range(_STEPS, _STEPS + _FOLLOWED_STEPS - 1), 0]
    followed = (_followed(program, graph, optimizer, draw_batch(graph, subject.seed + n)) for n in seeds)
    return worst(itertools.chain.from_iterable(followed))


def _go_backward(subject: Subject) -> Measurement:
    """Hold to the reference what later steps return as gradients, and what is told beside them."""
    graph = network_without_dropout()
    parameters = draw_parameters(graph, subject.seed)
    program = subject.program(graph, parameters, "gradient")
    reference = reference_program(graph, parameters, "gradient")
    found = []
    for call in range(_CALLS):
        batch = draw_batch(graph, subject.seed + call)
        loaded = program.load(batch)
        output = program.gradient_step(loaded)
        program.synchronize(output)
        returned = program.fetch_gradients(output[1])
        _, expected = reference.gradients(reference.load(batch))
        found.append(compare(returned, expected, NETWORK_TOLERANCE))
        found.append(compare(program.gradients(loaded)[1], expected, NETWORK_TOLERANCE))
    return worst(found)


def _followed(
    program: Program, graph: Graph, optimizer: Optimizer, batch: dict[str, Array]
) -> tuple[Measurement, Measurement]:
    """Make a step; return how far its loss and what it changed are from the reference's, made from the same weights."""
    before = program.parameters()
    losses = _losses(program, batch)
    changed = _changes(before, program.parameters())
    reference = reference_program(graph, before, "training", optimizer)
    loss = compare(losses, _losses(reference, batch), NETWORK_TOLERANCE)
    changes = compare(changed, _changes(before, reference.parameters()), _CHANGE_TOLERANCE)
    return _as_share(loss), _as_share(changes)


def _losses(program: Program, batch: dict[str, Array]) -> dict[str, Array]:
    output = program.train_step(program.load(batch))
    program.synchronize(output)
    return {"loss": np.asarray(program.fetch(output)[0])}


def _changes(before: dict[str, Array], after: dict[str, Array]) -> dict[str, Array]:
    return {name: after[name].astype(np.float64) - array for name, array in before.items()}


def _as_share(found: Measurement) -> Measurement:
    """Return an error as a share of its tolerance, so that those with another one compare."""
    words = f"share of its tolerance of a step after {_STEPS} others, {found.detail}"
    return Measurement((found.error or 0.0) / (found.tolerance or 1.0), 1.0, words)


def _time_of_unseen(subject: Subject) -> Measurement:
    """Steps must take as long on mini-batches that were never seen: right results that were kept show in time only."""
    graph = heavy_network(64).without_loss()
    program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
    steps, seeds = FurtherSteps(program, "inference", 0), itertools.count(subject.seed)
    seen = steps.load(draw_batch(graph, next(seeds)))
    timed = [_seconds(steps, seen) for _ in range(_TIMED_CALLS)]
    found = unseen_check(steps, lambda: draw_batch(graph, next(seeds)), min(timed), Budget(sum(timed)))
    if found.status == FAILED:
        raise CheckFailed(found.detail)
    return Measurement(detail=found.detail)


def _seconds(steps: FurtherSteps, batch: Any) -> float:
    start = perf_counter()
    steps.program.synchronize(steps.step(batch))
    return perf_counter() - start


def late_checks() -> tuple[Check, ...]:
    return (
        Check("program/late/infer", _infer),
        Check("program/late/train_step", _train),
        Check("program/late/gradient_step", _go_backward),
        Check("program/late/time-of-unseen", _time_of_unseen),
    )
