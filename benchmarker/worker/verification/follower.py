"""Training steps that are followed: what is known of a program on both sides of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import kept_numbers, places
from benchmarker.worker.measurement.lateness import share_late
from benchmarker.worker.verification.further_steps import FurtherSteps, require_gradients
from benchmarker.worker.verification.update_rule import (
    Moment,
    distance,
    of_samples,
    sampled,
    sampled_state,
    tells_state,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.program import Prepared

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


@dataclass(frozen=True)
class Step:
    """A further training step, and what was known on both sides of it.

    Parameters
    ----------
    before, after : Moment
        Weights and state.
    loss, own_loss : float
        What the step returned, and what the same program computes apart from it, without dropout, or the reference.
    gradients : mapping
        float64 samples of its own gradients, without dropout, or of the reference's.
    gradient_norm : float
        Of all of them together.
    statistics : mapping
        Running statistics after it.
    frozen_statistics : tuple of str
        Those that it left as they were.
    step_seconds, late_share : float
        What the step itself took, and what part of that passed until its weights were there.
    seconds : float
        What all of this took.
    """

    before: Moment
    after: Moment
    loss: float
    own_loss: float
    gradients: Arrays
    gradient_norm: float
    statistics: Mapping[str, Array]
    frozen_statistics: tuple[str, ...]
    step_seconds: float
    late_share: float
    seconds: float

    @property
    def length(self) -> float:
        """Norm of what it did to the sampled weights."""
        return distance(self.after.weights, self.before.weights)


@dataclass(frozen=True)
class Gradients:
    """What a step must follow.

    Parameters
    ----------
    loss : float
        Before it.
    samples : mapping
        float64 samples of the gradients.
    norm : float
        Of all of them together.
    """

    loss: float
    samples: Arrays
    norm: float


class Follower:
    """Makes training steps of a program and notes what is known on both sides of each.

    Parameters
    ----------
    steps : FurtherSteps
        Makes them.
    prepared : Prepared
        The run.
    optimizer : Optimizer
        What it is trained with.
    """

    def __init__(self, steps: FurtherSteps, prepared: Prepared, optimizer: Optimizer) -> None:
        self._steps = steps
        self._optimizer = optimizer
        self._program = steps.program
        # Of the program that was timed alone: another one is followed from its own first step.
        is_timed = steps.taken == prepared.feed.taken
        given = prepared.numbers if is_timed else None
        self._counts_updates = given is None
        self._counted = self._made()
        self._rule = optimizer.rule
        self._numbers = kept_numbers(repeat(self._rule, self._counted)) if given is None else dict(given)
        self._names = tuple(p.name for p in prepared.graph.trainable)
        self._statistics = prepared.graph.statistics
        self._where = tuple(places(prepared.graph, optimizer.modifiers.decay_of).values())
        self._is_whole = not optimizer.rule.is_elementwise
        self.tells_state = tells_state(steps.program, optimizer)

    def moment(self, parameters: Mapping[str, Array]) -> Moment:
        """Return the moment between two steps that has these parameters."""
        given, whole = (self._program, self._optimizer, self._names), self._is_whole
        state = sampled_state(*given, whole=whole) if self.tells_state else {}
        weights = sampled(parameters, self._names, whole=whole)
        where = of_samples(self._where, weights)
        return Moment(self._steps.updates, weights, state, where, whole, self._numbers_now())

    def _numbers_now(self) -> Mapping[str, float]:
        """Return what the rule has kept of all updates so far: of the timed ones, and of those that were made here."""
        while self._counted < self._made():
            self._counted += 1
            self._rule.numbers(self._counted, self._numbers)
        return dict(self._numbers)

    def _made(self) -> int:
        """Return how many have been made; where numbers were given, these count all steps."""
        return self._steps.updates if self._counts_updates else self._steps.taken

    def step(self, batch: Mapping[str, Array]) -> Step:
        """Make a step and note the program's own loss and gradients beside it."""
        began = time.perf_counter()
        native = self._steps.load(batch)
        own_loss, gradients = self._program.gradients(native)
        require_gradients(self._names, gradients)
        samples = sampled(gradients, self._names, whole=self._is_whole)
        known = Gradients(float(own_loss), samples, norm_of(gradients.values()))
        return self.step_of(native, known, began)

    def step_of(self, native: Any, known: Gradients, began: float) -> Step:
        """Make a step of a loaded mini-batch whose gradients are known."""
        parameters, fetching = _timed(self._program.parameters)
        former = {name: np.array(parameters[name]) for name in self._statistics}
        before = self.moment(parameters)
        output, stepping = _timed(lambda: self._synchronised(native))
        parameters, fetching_then = _timed(self._program.parameters)
        statistics = {name: np.array(parameters[name]) for name in self._statistics}
        frozen = [name for name, old in former.items() if not np.any(statistics[name] != old)]
        return Step(
            before,
            self.moment(parameters),
            float(self._steps.fetch(output)[0]),
            known.loss,
            known.samples,
            known.norm,
            statistics,
            tuple(frozen),
            stepping,
            share_late(stepping, fetching_then - fetching),
            time.perf_counter() - began,
        )

    def _synchronised(self, native: Any) -> Any:
        output = self._steps.step(native)
        self._program.synchronize(output)
        return output


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start_seconds = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start_seconds


def norm_of(arrays: Any) -> float:
    """Return the Euclidean norm of several arrays together."""
    return float(np.sqrt(sum(float(np.linalg.norm(array.reshape(-1))) ** 2 for array in arrays)))
