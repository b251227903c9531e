"""What `verify` looks at besides tensors, and what it leaves out because it would take too long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarker.data import values
from benchmarker.graph.graph import Graph
from benchmarker.worker.verification.budget import Budget
from benchmarker.worker.verification.dropout_again import dropout_checks
from benchmarker.worker.verification.findings import Check, left_out
from benchmarker.worker.verification.further_steps import FurtherSteps
from benchmarker.worker.verification.later_gradients import gradient_steps_check
from benchmarker.worker.verification.probes import (
    LATER,
    LATER_CALLS,
    LATER_STEPS,
    UNFOLLOWED,
    Build,
    ProbeSpec,
)
from benchmarker.worker.verification.reference_cost import BACKWARD, forward_seconds
from benchmarker.worker.verification.stable_batches import TRIES

LATER_SECONDS = 120.0
"""What later calls, or later steps, may take by the estimate for the float64 reference."""
DROPOUT_SECONDS = 20.0
LATER_CALLS_NAME, LATER_STEPS_NAME = "later calls of inference", "later steps of training"
_FOLLOWED_EVALUATIONS = 3
"""In float64, with rectifiers switched, and with rounding."""


def calls_seconds(graph: Graph) -> float:
    """Return about how long later calls take; the same for every framework, which must make as many."""
    return LATER_CALLS * forward_seconds(graph)


def steps_seconds(graph: Graph) -> float:
    """Return about how long the reference of later steps takes, its choice of mini-batches included."""
    evaluations = UNFOLLOWED + LATER_STEPS * (1 + 2 * TRIES + _FOLLOWED_EVALUATIONS)
    return evaluations * BACKWARD * forward_seconds(graph)


def affordable(spec: ProbeSpec) -> ProbeSpec:
    """Return what is asked with later calls, and without later steps where they would take too long.

    This follows from the graph alone, so that frameworks and the reference all leave out the same.
    """
    graph = spec.graph
    calls = LATER_CALLS if calls_seconds(graph.without_loss()) <= LATER_SECONDS else 0
    probes = spec.probes
    if graph.loss is None or steps_seconds(graph) > LATER_SECONDS:
        probes = tuple(probe for probe in probes if probe != LATER)
    return replace(spec, probes=probes, calls=calls)


def checks(requested: ProbeSpec, spec: ProbeSpec, build: Build, device_type: str) -> Iterator[Check]:
    """Compare dropout's own masks and steps of mode gradient, and tell what was left out of what was asked.

    Parameters
    ----------
    requested, spec : ProbeSpec
        Before and after :func:`affordable`.
    build : callable
        Makes a program of the framework.
    device_type : {"cpu", "cuda"}
        Where it runs.
    """
    graph = spec.graph
    if not spec.calls:
        yield _too_long(LATER_CALLS_NAME, LATER_CALLS, calls_seconds(graph.without_loss()))
    if graph.loss is None:
        return
    if LATER in requested.probes and LATER not in spec.probes:
        yield _too_long(LATER_STEPS_NAME, UNFOLLOWED + LATER_STEPS, steps_seconds(graph))
    yield gradient_steps_check(spec, build, device_type)
    if "dropout" in graph.operators:
        program = build(graph, spec.parameters(), "training", spec.own)
        batch = spec.rounded(values.draw_batch(graph, spec.seed))
        yield from dropout_checks(
            graph, FurtherSteps(program, "training", 0), batch, Budget(0.0, least=DROPOUT_SECONDS)
        )


def _too_long(name: str, count: int, seconds: float) -> Check:
    return left_out(name, f"{count} of them might take {seconds:.2g} s, more than {LATER_SECONDS:g} s")
