"""Mini-batches at which no rectifier is near to switching, so that rounding switches none.

One that rounding does switch moves a gradient by a hundredth and more in a small network: then a comparison
is luck. Weights and mini-batches are drawn, so others may be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.statistics import median
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.low_precision import FRACTION_BITS, MODELLED, rounded, rounding_trials
from benchmarker.worker.verification.probes import COMMON, ProbeSpec

if TYPE_CHECKING:
    from benchmarker.api.optimizer import Optimizer
    from benchmarker.graph.graph import Graph
    from benchmarker.plugins.numpy.program import NumpyProgram

TRIES = 4
"""Mini-batches to try for a step; a large network always has some rectifier near to switching."""
CALM = 1e-4
"""Share of a gradient that switched rectifiers may move without another mini-batch being tried."""
LOW_PRECISION_TRIES = 8
"""Mini-batches to try in a low precision, without following any training."""
LOW_PRECISION_CALM = 0.05
"""Share of a gradient that rounding may move without another mini-batch being tried."""
TINY = 1e-6
"""A gradient this much smaller than the largest is zero but for rounding."""


def stable_seeds(spec: ProbeSpec, precision: str) -> dict[str, list[int]]:
    """Return seeds of mini-batches, step by step, for each probe and for what is compared without one.

    They are chosen along the reference's own training, which every right framework's is near to. In a
    low precision rounding switches rectifiers whatever the mini-batch: there the one that gradients are compared
    on is the one of which rounding leaves most.
    """
    if spec.graph.loss is None:
        return {}
    if precision in MODELLED:
        return {COMMON: [_best_known(spec, precision)]}
    if precision in FRACTION_BITS:
        return {}
    first = _Trainer(spec, None).most_stable(0)
    chosen = {COMMON: [first]}
    for probe in spec.probes:
        trainer = _Trainer(spec, probe)
        seeds = [first]
        trainer.train(first)
        followed = spec.followed(probe)
        for step in range(1, followed.stop):
            seeds.append(trainer.most_stable(step) if step in followed else spec.seed + step)
            trainer.train(seeds[-1])
        chosen[probe] = seeds
    return chosen


def _best_known(spec: ProbeSpec, precision: str) -> int:
    """Return the seed of the mini-batch whose gradients rounding moves least, of a few that are tried."""
    tried: dict[int, float] = {}
    for attempt in range(LOW_PRECISION_TRIES):
        seed = spec.seed + attempt
        tried[seed] = _moved_by_rounding(spec, precision, seed)
        if tried[seed] <= LOW_PRECISION_CALM:
            return seed
    return min(tried, key=lambda seed: tried[seed])


def _moved_by_rounding(spec: ProbeSpec, precision: str, seed: int) -> float:
    """Return how far rounding moves the gradients of a mini-batch, as a share of the norm that half exceed."""
    graph, given, batch = spec.training_graph, spec.parameters(), spec.drawn(seed)
    exact = _gradients(reference.build("fp64")(graph, given, "training", spec.own), batch)
    shares = []
    for trial in rounding_trials(precision):
        program = reference.build("fp32", 0.0, trial)(graph, rounded(given, precision), "training", spec.own)
        found = _gradients(program, rounded(batch, precision))
        norms = ((name, float(np.linalg.norm(gradient))) for name, gradient in exact.items())
        shares.append(
            median(float(np.linalg.norm(found[name] - exact[name])) / norm for name, norm in norms if norm)
        )
    worst = float(max(shares))
    return worst if math.isfinite(worst) else math.inf


class _Trainer:
    """The reference, and beside it one that switches every rectifier that rounding might."""

    def __init__(self, spec: ProbeSpec, probe: str | None) -> None:
        self._question = spec
        graph, optimizer = spec.training_graph, spec.optimizer(probe) if probe else spec.own
        parameters = spec.parameters()
        self._names = tuple(parameters)
        self._between = len(spec.followed(probe)) if probe else spec.steps
        self._exact, self._switched = _exact_and_switched(graph, parameters, optimizer)

    def most_stable(self, step: int) -> int:
        """Return the seed of the first stable mini-batch, or of the most stable that was tried."""
        tried: dict[int, float] = {}
        for attempt in range(TRIES):
            seed = self._question.seed + step + attempt * self._between
            tried[seed] = self._switching(seed)
            if tried[seed] <= CALM:
                return seed
        return min(tried, key=lambda seed: tried[seed])

    def train(self, seed: int) -> None:
        self._exact.train_step(self._exact.load(self._question.drawn(seed)))

    def _switching(self, seed: int) -> float:
        """Return how far, at most, switched rectifiers move a gradient, as a share of it."""
        batch = self._question.drawn(seed)
        self._switched.assign({name: self._exact.value(name) for name in self._names})
        return _difference(self._exact, self._switched, batch)


def most_stable_batch(
    graph: Graph, parameters: Mapping[str, Any], optimizer: Optimizer, batches: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the mini-batch at which rectifiers that rounding might switch move the gradients least."""
    programs = _exact_and_switched(graph, parameters, optimizer)
    return min(batches, key=lambda batch: _difference(*programs, batch))


def _exact_and_switched(
    graph: Graph, parameters: Mapping[str, Any], optimizer: Optimizer
) -> tuple[NumpyProgram, NumpyProgram]:
    exact, switched = (
        reference.build("fp64", switched)(graph, dict(parameters), "training", optimizer)
        for switched in (0.0, reference.SWITCHED)
    )
    return exact, switched


def _difference(exact: NumpyProgram, switched: NumpyProgram, batch: dict[str, Any]) -> float:
    """Return how far, at most, one program's gradients are from the other's, as a share of these."""
    ours, theirs = _gradients(exact, batch), _gradients(switched, batch)
    largest = max(float(np.linalg.norm(gradient)) for gradient in ours.values())
    shares = [
        float(np.linalg.norm(theirs[name] - gradient) / np.linalg.norm(gradient))
        for name, gradient in ours.items()
        if np.linalg.norm(gradient) > TINY * largest
    ]
    worst = max(shares, default=0.0)
    return worst if math.isfinite(worst) else math.inf


def _gradients(program: NumpyProgram, batch: dict[str, Any]) -> dict[str, Any]:
    return program.gradients(program.load(batch))[1]
