"""Mini-batches at which no rectifier is near to switching, so that rounding switches none.

One that rounding does switch moves a gradient by a hundredth and more in a small network: then a comparison
is luck. Weights and mini-batches are drawn, so others may be drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker import reference
from benchmarker.worker.coarse import FRACTION_BITS
from benchmarker.worker.findings import COMMON, Question

if TYPE_CHECKING:
    from benchmarker.plugins.numpy.program import NumpyProgram

TRIES = 4
"""Mini-batches to try for a step; a large network always has some rectifier near to switching."""
CALM = 1e-4
"""Share of a gradient that switched rectifiers may move without another mini-batch being tried."""
TINY = 1e-6
"""A gradient this much smaller than the largest is zero but for rounding."""


def calm_seeds(question: Question, precision: str) -> dict[str, list[int]]:
    """Return seeds of mini-batches, step by step, for each probe and for what is compared without one.

    They are chosen along the reference's own training, which every right framework's is near to. In a
    coarse precision rounding switches rectifiers whatever the mini-batch.
    """
    if question.graph.loss is None or precision in FRACTION_BITS:
        return {}
    first = _Trainer(question, None).calmest(0)
    chosen = {COMMON: [first]}
    for probe in question.probes:
        trainer = _Trainer(question, probe)
        seeds = [first]
        trainer.train(first)
        for step in range(1, question.steps):
            seeds.append(trainer.calmest(step))
            trainer.train(seeds[-1])
        chosen[probe] = seeds
    return chosen


class _Trainer:
    """The reference, and beside it one that switches every rectifier that rounding might."""

    def __init__(self, question: Question, probe: str | None) -> None:
        self._question = question
        graph, optimizer = question.training_graph, question.optimizer(probe) if probe else question.own
        parameters = question.parameters()
        self._names = tuple(parameters)
        self._exact, self._switched = (
            reference.build("fp64", switched)(graph, parameters, "training", optimizer)
            for switched in (0.0, reference.SWITCHED)
        )

    def calmest(self, step: int) -> int:
        """Return the seed of the first calm mini-batch, or of the calmest that was tried."""
        tried: dict[int, float] = {}
        for attempt in range(TRIES):
            seed = self._question.seed + step + attempt * self._question.steps
            tried[seed] = self._switching(seed)
            if tried[seed] <= CALM:
                return seed
        return min(tried, key=lambda seed: tried[seed])

    def train(self, seed: int) -> None:
        """Make a step."""
        self._exact.train_step(self._exact.load(self._question.drawn(seed)))

    def _switching(self, seed: int) -> float:
        """Return how far, at most, switched rectifiers move a gradient, as a share of it."""
        batch = self._question.drawn(seed)
        self._switched.assign({name: self._exact.value(name) for name in self._names})
        exact, switched = (_gradients(program, batch) for program in (self._exact, self._switched))
        largest = max(float(np.linalg.norm(gradient)) for gradient in exact.values())
        shares = [
            float(np.linalg.norm(switched[name] - gradient) / np.linalg.norm(gradient))
            for name, gradient in exact.items()
            if np.linalg.norm(gradient) > TINY * largest
        ]
        worst = max(shares, default=0.0)
        return worst if math.isfinite(worst) else math.inf


def _gradients(program: NumpyProgram, batch: dict[str, Any]) -> dict[str, Any]:
    return program.gradients(program.load(batch))[1]
