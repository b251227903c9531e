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
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.native_layout import NativeLayout, native_layout
from benchmarker.training.optimizers.update_graph import UpdateGraph, number_names, totals_graph, update_graph

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

    def resume_from(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._step, self._memory = steps, dict(numbers)


@dataclass(frozen=True)
class AsInGraph:
    """A letter of the state of a whole parameter, which stands otherwise than its native tensors.

    Parameters
    ----------
    tensor : native tensor
        It stands as the graph has it.
    """

    tensor: Any


@dataclass(frozen=True)
class View:
    """How a rule sees native tensors of a parameter: one of them as it stands, or all as the parameter of the graph.

    Parameters
    ----------
    place : ParameterPlace
        What it knows of what it sees.
    natives : tuple of int
        Which of the parameter's native tensors these are.
    layout : Layout
        Of the parameter.
    native_layout : NativeLayout or None
        How the parameter stands in them; None of one that is seen as it stands.
    """

    place: ParameterPlace
    natives: tuple[int, ...]
    layout: Layout
    native_layout: NativeLayout | None = None

    def update(self, rule: UpdateRule) -> UpdateGraph:
        """Return the graph of the update."""
        return update_graph(rule, self.place, self.native_layout)

    def totals(self, rule: UpdateRule) -> UpdateGraph | None:
        """Return the graph of what is added to the totals, if there are any."""
        return totals_graph(rule, self.place, self.native_layout)

    def start(self, rule: UpdateRule, arrays: Sequence[Array]) -> Mapping[str, Array]:
        """Return the state before the first update, of native tensors as arrays."""
        seen = arrays[0] if self.native_layout is None else np.ascontiguousarray(self.layout.decode(arrays))
        return started(rule, self.place, seen)

    def slots(self, kept: Any) -> list[Any]:
        """Return a letter of the state, None if there is none, by native tensor."""
        if self.native_layout is None or kept is None:
            return [kept] * len(self.natives)
        return [AsInGraph(kept), *[None] * (len(self.natives) - 1)]


def views(
    rule: UpdateRule, place: ParameterPlace, shapes: Sequence[Shape], layout: Layout
) -> tuple[View, ...]:
    """Return how a rule sees a parameter: its native tensors as they stand if that is all the same to the rule.

    Parameters
    ----------
    rule : UpdateRule
        With all that is done around it.
    place : ParameterPlace
        What it knows of the parameter.
    shapes : sequence of tuple of int
        Of its native tensors.
    layout : Layout
        How these stand.

    Raises
    ------
    UnsupportedError
        If the rule must see the parameter as the graph has it, and that cannot be made of the tensors.
    """
    if _is_all_the_same(rule, place, shapes, layout):
        return tuple(View(native_place(place, shape), (i,), layout) for i, shape in enumerate(shapes))
    found = native_layout(place.shape, layout.encode(_numbered(place.shape)))
    if found is None:
        raise UnsupportedError(
            f"optimizer '{rule.name}' sees each parameter as a whole, and the elements of '{place.name}' stand in "
            f"its {len(shapes)} native tensors in no order that a few slices show; choose another optimizer"
        )
    return (View(place, tuple(range(len(shapes))), layout, found),)


def sees_native_tensors(
    rule: UpdateRule,
    where: Mapping[str, ParameterPlace],
    shapes: Mapping[str, Sequence[Shape]],
    layouts: Mapping[str, Layout],
) -> bool:
    """Tell whether a rule may take every native tensor of some parameters as it stands.

    Raises
    ------
    UnsupportedError
        As :func:`views` says.
    """
    return all(
        view.native_layout is None
        for name, place in where.items()
        for view in views(rule, place, shapes[name], layouts[name])
    )


def _is_all_the_same(
    rule: UpdateRule, place: ParameterPlace, shapes: Sequence[Shape], layout: Layout
) -> bool:
    """Tell whether native tensors may be updated as if these were parameters, and their state told as that of one."""
    if len(shapes) > 1:
        return rule.is_separable and not rule.uses_axes and has_uniform_state(rule, place)
    if not rule.uses_axes or len(place.shape) < 2:
        return True
    if tuple(shapes[0]) != place.shape:
        return False
    (native,) = layout.encode(_numbered(place.shape))
    return np.array_equal(native, _numbered(place.shape))


def has_uniform_state(rule: UpdateRule, place: ParameterPlace) -> bool:
    """Tell whether all state of a parameter has its shape."""
    return set(rule.state_shapes(place).values()) <= {place.shape}


def _numbered(shape: Shape) -> Array:
    return np.arange(math.prod(shape)).reshape(shape)


class ComposedState:
    """What updates of native tensors by a rule keep between two of them.

    Each of ``_parts`` has a ``view`` and a ``state`` by letter.
    """

    _rule: UpdateRule
    _numbers: RuleSteps
    _parts: Sequence[Any]

    def resume_from(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``, with what the rule has kept until then."""
        self._numbers.resume_from(steps, numbers)

    def state(self) -> dict[str, list[Any]]:
        """Return each letter of the state of all native tensors, in their order.

        None stands for what lacks it, and :class:`AsInGraph`, at the first of its tensors, for that of a parameter.
        """
        return {
            letter: [slot for part in self._parts for slot in part.view.slots(part.state.get(letter))]
            for letter in self._rule.state
        }


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
        The letter of each of these tensors, in their order, as :meth:`ComposedState.state` has it.
    decode : callable
        Brings what has a parameter's shape into the graph's layout.
    fetch : callable
        Brings what has another as it is.
    """
    left, found = iter(slots), {}
    for name, tensors in natives.items():
        kept = [next(left) for _ in tensors]
        if isinstance(kept[0], AsInGraph):
            found[name] = fetch(kept[0].tensor)
        elif all(one is not None for one in kept):
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
