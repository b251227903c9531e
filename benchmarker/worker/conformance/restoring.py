"""Checks of what a training goes on from: a state that is put back, and the steps that follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.modifiers import WEIGHTS
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.api.training_state import TrainingState
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.training.optimizers.advance import kept_numbers
from benchmarker.worker.conformance.optimizers import (
    MODIFIED,
    SCHEDULED,
    WHOLE,
    matrix_network,
    recurrent_network,
    two_way_network,
)
from benchmarker.worker.conformance.result import CheckFailed, Measurement, Skipped, compare
from benchmarker.worker.conformance.subject import Check, Subject, draw_batch, draw_parameters

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_BEFORE, _AFTER = 4, 3
"""Steps until the state is told, and those that must follow it alike."""
_TOLERANCE = 1e-3
"""Share of the largest element, after a state in the terms of all frameworks, which rounds what one keeps otherwise."""


def _network(dropout: float) -> Graph:
    net = Network("restored", 8)
    x = net.input("x", (3, 6, 6))
    label = net.labels("label", 4)
    x = net.tanh(net.batch_norm("bn", net.convolution("conv", x, 5, 3, stride=2, pad=1, bias=False)))
    x = net.tanh(net.dense("fc1", net.flatten(x), 7))
    x = net.dense("fc2", net.dropout(x, ratio=dropout) if dropout else x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


class _Course:
    """A program whose rate changes from step to step, and what its steps gave."""

    def __init__(self, subject: Subject, graph: Graph, optimizer: Optimizer, seed: int) -> None:
        self.program: Program = subject.program(graph, draw_parameters(graph, seed), "training", optimizer)
        self._known = Hyperparameters(optimizer)
        self._rate = optimizer.learning_rate
        self._graph, self._seed = graph, subject.seed

    def give(self, step: int) -> Hyperparameters:
        """Give the program the constants of a step."""
        values = {"learning_rate": self._rate * (1.0 - 0.1 * step)}
        self._known.take(values)
        try:
            self.program.set_hyperparameters(values)
        except UnsupportedError as reason:
            raise Skipped(str(reason)) from None
        return self._known

    def steps(self, first: int, count: int) -> dict[str, Array]:
        """Make some steps, and return their losses and the weights after them."""
        losses = []
        for step in range(first, first + count):
            self.give(step)
            batch = self.program.load(draw_batch(self._graph, self._seed + step))
            losses.append(self.program.fetch(self.program.train_step(batch))[0])
        return {"losses": np.array(losses), **self.program.parameters()}

    def state(self) -> TrainingState:
        """Return the state after the first steps."""
        rules = (self.give(step).rule for step in range(_BEFORE))
        numbers = kept_numbers(rules)
        program = self.program
        try:
            state = program.optimizer_state()
        except UnsupportedError as reason:
            raise Skipped(str(reason)) from None
        return TrainingState(_BEFORE, program.parameters(), state, numbers, program.native_state())

    def after(self, state: TrainingState) -> dict[str, Array]:
        """Go on from a state, and return what follows."""
        self.give(state.steps - 1)
        try:
            self.program.restore(state)
        except UnsupportedError as reason:
            raise Skipped(str(reason)) from None
        return self.steps(state.steps, _AFTER)


def _resumes(optimizer: Optimizer, network: Callable[[], Graph], subject: Subject) -> Measurement:
    """Another program, of other weights, that takes the whole state must make the very steps that follow it.

    Of a state without what only the framework itself understands they must be the same, give or take rounding.
    """
    graph = network()
    course = _Course(subject, graph, optimizer, subject.seed)
    course.steps(0, _BEFORE)
    state = course.state()
    lost = course.program.lost_on_restore()
    if lost is not None and "dropout" in graph.operators:
        raise Skipped(f"the framework says that it cannot restore {lost}")
    followed = course.steps(_BEFORE, _AFTER)
    other = _Course(subject, graph, optimizer, subject.seed + 1)
    other.steps(0, 1)
    counted = other.program.compilations()
    found = other.after(state)
    if other.program.compilations() != counted:
        raise CheckFailed("restore must not compile anything")
    exact = _require_alike(other, state, found, followed)
    if "dropout" in graph.operators:
        return exact
    nearly = compare(other.after(replace(state, native={})), followed, _TOLERANCE)
    return Measurement(
        nearly.error, nearly.tolerance, f"{exact.detail}; without native state {nearly.detail}"
    )


def _require_alike(
    course: _Course, state: TrainingState, found: dict[str, Array], followed: dict[str, Array]
) -> Measurement:
    """Hold steps to those that followed: bit for bit, unless the framework does not repeat itself bit for bit."""
    other = sorted(name for name in found if not np.array_equal(found[name], followed[name]))
    if not other:
        return Measurement(detail=f"{_AFTER} steps equal bit for bit")
    again = course.after(state)
    nearly = compare(found, followed, _TOLERANCE)
    if all(np.array_equal(found[name], again[name]) for name in found):
        raise CheckFailed(
            "steps after restore must equal those that would have followed, bit for bit; different by up to "
            f"{nearly.error}: {', '.join(other)}"
        )
    if nearly.error is None or not nearly.error <= _TOLERANCE:
        raise CheckFailed(f"steps after restore differ by {nearly.error}: {', '.join(other)}")
    return Measurement(detail=f"{_AFTER} steps equal as far as the framework repeats itself")


def _begins(optimizer: Optimizer, subject: Subject) -> Measurement:
    """A program that has made no step yet must take a state too."""
    graph = _network(0.0)
    course = _Course(subject, graph, optimizer, subject.seed)
    course.steps(0, _BEFORE)
    state = course.state()
    followed = course.steps(_BEFORE, _AFTER)
    fresh = _Course(subject, graph, optimizer, subject.seed + 1)
    return _require_alike(fresh, state, fresh.after(state), followed)


def restoring_checks() -> Iterator[Check]:
    """Yield a check of each optimizer, of dropout, of recurrent layers, and of programs that have made no step."""
    plain, dropping = partial(_network, 0.0), partial(_network, 0.5)
    for name, optimizer in SCHEDULED.items():
        yield Check(f"restore/{name}", partial(_resumes, optimizer, plain))
    for name, optimizer in MODIFIED.items():
        if optimizer.modifiers.ema or optimizer.modifiers.decay_of == WEIGHTS:
            yield Check(f"restore/{name}", partial(_resumes, optimizer, plain))
    matrices = partial(_resumes, SCHEDULED["adafactor-without-decay"], matrix_network)
    yield Check("restore/adafactor-without-decay/matrices", matrices)
    yield Check("restore/dropout", partial(_resumes, SCHEDULED["adam"], dropping))
    for name in ("momentum", "adam"):
        yield Check(f"restore/{name}/lstm", partial(_resumes, SCHEDULED[name], recurrent_network))
        yield Check(f"restore/{name}/before-a-step", partial(_begins, SCHEDULED[name]))
    for name in WHOLE:
        yield Check(f"restore/{name}/lstm", partial(_resumes, SCHEDULED[name], recurrent_network))
        yield Check(f"restore/{name}/both-ways", partial(_resumes, SCHEDULED[name], two_way_network))
