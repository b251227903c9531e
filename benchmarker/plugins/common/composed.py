"""What all frameworks share that run an update rule in their own operations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, Shape, UpdateRule
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.layouts import Layout
from benchmarker.training.optimizers.update_graph import number_names

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class RuleSteps:
    """The numbers of a rule's updates, one after the other.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    """

    def __init__(self, known: Hyperparameters) -> None:
        self._known = known
        self.names = number_names(known.built_rule)
        self._step = 0
        self._memory: dict[str, float] = {}

    def next(self) -> list[float]:
        """Return the numbers of the next update, in the order of ``names``."""
        self._step += 1
        found = self._known.rule.numbers(self._step, self._memory)
        return [found[name] for name in self.names]

    def go_on(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._step, self._memory = steps, dict(numbers)


class ComposedState:
    """What updates of native tensors by a rule keep between two of them; ``_parts`` have a ``state`` by letter each."""

    _rule: UpdateRule
    _numbers: RuleSteps
    _parts: Sequence[Any]

    def go_on(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._numbers.go_on(steps, numbers)

    def state(self) -> dict[str, list[Any]]:
        """Return each letter of the state of all native tensors, in their order; None of those that lack it."""
        return {letter: [part.state.get(letter) for part in self._parts] for letter in self._rule.state}


def require_whole(rule: UpdateRule, name: str, count: int) -> None:
    """Refuse a rule that sees tensors as wholes where a parameter is kept in several native ones.

    Raises
    ------
    UnsupportedError
        With the parameter's name.
    """
    if count != 1 and not rule.is_separable:
        raise UnsupportedError(
            f"optimizer '{rule.name}' sees each parameter as a whole, and here '{name}' is kept in {count} tensors "
            "or together with others; choose another optimizer"
        )


def native_place(place: ParameterPlace, shape: Shape) -> ParameterPlace:
    """Return what a rule knows of a parameter's native tensor, which may stand otherwise than in the graph."""
    hidden = place.is_hidden_matrix and sorted(shape) == sorted(place.shape)
    transposed = hidden and tuple(shape) != place.shape
    return replace(place, shape=tuple(shape), is_hidden_matrix=hidden, is_transposed=transposed)


def started(rule: UpdateRule, place: ParameterPlace, parameter: Array) -> Mapping[str, Array]:
    """Return the state of a native tensor before the first update, as arrays."""
    return {letter: np.array(array) for letter, array in rule.start(place, parameter).items()}


def state_arrays(
    natives: Mapping[str, Sequence[Any]],
    slots: Sequence[Any],
    decode: Callable[[str, Sequence[Any]], Array],
    fetch: Callable[[Any], Array],
) -> dict[str, Array]:
    """Return a letter of the state by parameter: of those that have it, in the graph's layout.

    Parameters
    ----------
    natives : mapping
        Native tensors of each trainable parameter.
    slots : sequence
        The letter of each of these tensors, in their order; None of one that lacks it.
    decode : callable
        Brings what has a parameter's shape into the graph's layout.
    fetch : callable
        Brings what has another as it is.
    """
    left, found = iter(slots), {}
    for name, tensors in natives.items():
        kept = [next(left) for _ in tensors]
        if all(one is not None for one in kept):
            alike = all(tuple(one.shape) == tuple(tensor.shape) for one, tensor in zip(kept, tensors))
            found[name] = decode(name, kept) if alike else fetch(kept[0])
    return found


def axes_of(layout: Layout, shape: Shape) -> tuple[int, ...] | None:
    """Return the permutation of axes that a layout is, ``native = array.transpose(axes)``; None if it is none."""
    array = np.arange(math.prod(shape)).reshape(shape)
    natives = layout.encode(array)
    if len(natives) != 1 or natives[0].ndim != len(shape):
        return None
    for axes in itertools.permutations(range(len(shape))):
        if array.transpose(axes).shape == natives[0].shape and np.array_equal(
            array.transpose(axes), natives[0]
        ):
            return axes
    return None
