"""Steps of all ranks beside a scheme's definition: float64, all replicas at once, each step from their own weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.scheme import Model
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.numpy.equations import Equations, State
from benchmarker.training.optimizers.advance import places
from benchmarker.worker.ranks.flat import Layout
from benchmarker.worker.ranks.prepare import Rank
from benchmarker.worker.verification.tolerances import EPSILON
from benchmarker.worker.verification.verdicts import TensorVerdict

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.graph.graph import Graph

    Array = npt.NDArray[Any]

MAX_SHARE = {"fp32": 5e-3, "fp64": 1e-6, "tf32": 2e-2, "bf16": 5e-2, "fp16": 5e-2}
"""Of a step's length that it may be off by: updates that divide by a root turn where rounding turns a gradient."""
MAX_ELEMENT_SHARE = 3.0
"""Of the longest way of an element: one whose gradient is nothing but rounding goes either way."""
ROUNDINGS = 8
"""Of a weight in its own format, that a step may be off by besides."""


class Replicas:
    """The optimizers of all replicas in float64.

    Parameters
    ----------
    graph : Graph
        What is trained.
    optimizer : Optimizer
        The rule.
    count : int
        How many there are.
    state : mapping, optional
        Of the optimizer, the same in all of them; by default that of the start.
    steps : int
        Updates that led to it.
    numbers : mapping, optional
        What the rule has kept of them, where its constants changed on the way.
    sampled : bool
        Whether samples of large parameters stand for all their elements.
    """

    def __init__(
        self,
        graph: Graph,
        optimizer: Optimizer,
        count: int,
        state: State | None = None,
        steps: int = 0,
        numbers: Mapping[str, float] | None = None,
        sampled: bool = False,
    ) -> None:
        self._layout = Layout(graph, sampled=sampled)
        self._known = Hyperparameters(optimizer)
        self._state, self._steps, self._numbers = state, steps, numbers
        found = places(graph, optimizer.modifiers.decay_of).values()
        self._where = tuple(replace(place, shape=self._layout.shapes[place.name]) for place in found)
        self._weights = np.empty((count, self._layout.length))
        self._equations: dict[int, Equations] = {}

    def take(self, constants: Mapping[str, float]) -> None:
        """Have the next updates be made with other constants."""
        self._known.take(constants)

    def update(self, replica: int, weights: Array, gradient: Array) -> Array:
        """Return weights after an update of one replica's rule."""
        self._weights[replica] = weights
        if replica not in self._equations:
            # Not sooner: some rules start from the weights.
            equations = Equations(
                self._known,
                self._layout.views(self._weights[replica]),
                None if self._state is None else copy.deepcopy(self._state),
                where=self._where,
                steps=self._steps,
                numbers=self._numbers or None,
            )
            self._equations[replica] = equations
        self._equations[replica](self._layout.views(gradient))
        moved: Array = self._weights[replica].copy()
        return moved


class Follower:
    """Makes the model's steps beside those of the ranks, from the first one on.

    Parameters
    ----------
    rank : Rank
        Whose steps are held to it; all ranks must follow the same steps.
    optimizer : Optimizer
        The rule.
    precision : str
        Of the steps.
    replicas : Replicas, optional
        Their optimizers; by default at the start.
    """

    def __init__(
        self, rank: Rank, optimizer: Optimizer, precision: str, replicas: Replicas | None = None
    ) -> None:
        self._rank = rank
        self._precision = precision
        self._model = rank.scheme.model(rank.group.size)
        graph, sampled = rank.prepared.built, _can_be_sampled(self._model, optimizer)
        self._layout = Layout(graph, sampled=sampled)
        self._replicas = replicas or Replicas(graph, optimizer, rank.group.size, sampled=sampled)

    @classmethod
    def resumed(
        cls,
        rank: Rank,
        optimizer: Optimizer,
        precision: str,
        steps: int,
        numbers: Mapping[str, float] | None = None,
    ) -> Follower:
        """Return one that goes on after so many steps from the state that the program tells.

        Raises
        ------
        UnsupportedError
            If it tells none.
        """
        graph, size = rank.prepared.built, rank.group.size
        sampled = _can_be_sampled(rank.scheme.model(size), optimizer)
        layout, optimizer_state = Layout(graph, sampled=sampled), rank.view.optimizer_state()
        state = {
            letter: {
                name: np.array(_of_vector(layout, name, array), np.float64) for name, array in arrays.items()
            }
            for letter, arrays in optimizer_state.items()
        }
        replicas = Replicas(graph, optimizer, size, state, steps, numbers, sampled)
        return cls(rank, optimizer, precision, replicas)

    def take(self, constants: Mapping[str, float]) -> None:
        """Have the next steps be made with other constants of the optimizer."""
        self._replicas.take(constants)

    def step(self, batch: Mapping[str, Array], make: Callable[[], Any]) -> tuple[Any, list[TensorVerdict]]:
        """Have a step made, and compare where this rank's weights went.

        Parameters
        ----------
        batch : mapping
            The mini-batch of all ranks that the step takes.
        make : callable
            Makes the step.
        """
        view, group = self._rank.view, self._rank.group
        before = self._vector()
        gradient = self._layout.vector(view.own_gradients(view.load(batch)), np.float64)
        kept = np.float64 if self._precision == "fp64" else np.float32
        shared = group.share({"weights": before.astype(kept), "gradient": gradient.astype(kept)})
        weights, gradients = (
            np.stack([each[name] for each in shared]).astype(np.float64) for name in ("weights", "gradient")
        )
        output = make()
        view.synchronize(output)
        after = self._vector()
        expected = self._model.step(weights, gradients, self._replicas.update)[group.rank]
        return output, self._verdicts(before, after, expected)

    def _vector(self) -> Array:
        return self._layout.vector(self._rank.view.parameters(), np.float64)

    def _verdicts(self, before: Array, after: Array, expected: Array) -> list[TensorVerdict]:
        views = (self._layout.views(vector) for vector in (before, after, expected))
        was, found, wanted = views
        return [
            moved(name, elements, was[name], found[name], wanted[name], self._precision)
            for name, elements in self._layout.elements.items()
        ]


def _can_be_sampled(model: Model, optimizer: Optimizer) -> bool:
    return model.is_elementwise and optimizer.rule.is_elementwise


def _of_vector(layout: Layout, name: str, array: Array) -> Array:
    """Return what the vector has of an optimizer's state, of which not all is as large as the parameter."""
    return layout.sample(name, array) if array.size == layout.elements[name] else array


def moved(
    name: str, elements: int, before: Array, after: Array, expected: Array, precision: str
) -> TensorVerdict:
    """Compare where what is looked at of a parameter went with where it should have gone, as shares of the way."""
    way, off = expected - before, after - expected
    rounding = ROUNDINGS * EPSILON["fp64" if precision == "fp64" else "fp32"]
    length, longest = float(np.linalg.norm(way)), float(np.max(np.abs(way), initial=0.0))
    size, largest = float(np.linalg.norm(expected)), float(np.max(np.abs(expected), initial=0.0))
    absolute = float(np.max(np.abs(off), initial=0.0))
    tiny = float(np.finfo(np.float64).tiny)
    norm_error = _share(float(np.linalg.norm(off)), length, tiny)
    norm_tolerance = MAX_SHARE[precision] + rounding * size / max(length, tiny)
    relative, tolerance = (
        _share(absolute, longest, tiny),
        MAX_ELEMENT_SHARE + rounding * largest / max(longest, tiny),
    )
    passed = bool(norm_error <= norm_tolerance and relative <= tolerance)
    return TensorVerdict(
        name,
        "update",
        elements,
        after.size,
        absolute,
        relative,
        tolerance,
        norm_error,
        norm_tolerance,
        passed,
    )


def _share(part: float, whole: float, tiny: float) -> float:
    return part / max(whole, tiny) if part else 0.0
