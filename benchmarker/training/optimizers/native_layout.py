"""How a parameter of the graph stands in native tensors that are parts of it, or have its elements in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

import numpy as np

from benchmarker.api.update_rule import Shape
from benchmarker.graph.attributes import Slice
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.graph.operators import Operators, Tensor

    Array = npt.NDArray[Any]

MAX_PIECES = 64
"""What a tensor is put together from at most: gates of both directions are 16, elements one by one are no order."""


@dataclass(frozen=True)
class Piece:
    """Elements of a tensor at even distances; what is None need not be done.

    Parameters
    ----------
    source : int
        Of which of several tensors.
    axes : tuple of int or None
        The shape that this is given first.
    cut : Slice or None
        What is taken of it then.
    order : tuple of int or None
        How its axes are permuted after that.
    shape : tuple of int or None
        The shape that is given to the result.
    """

    source: int
    axes: Optional[Shape]
    cut: Optional[Slice]
    order: Optional[Shape]
    shape: Optional[Shape]

    def taken(self, operators: Operators, tensors: Sequence[Tensor]) -> Tensor:
        """Return the piece."""
        x = tensors[self.source]
        x = x if self.axes is None else operators.reshape(x, shape=self.axes)
        x = x if self.cut is None else operators.slice(x, taken=self.cut)
        x = x if self.order is None else operators.transpose(x, perm=self.order)
        return x if self.shape is None else operators.reshape(x, shape=self.shape)


@dataclass(frozen=True)
class Arrangement:
    """A tensor as pieces of others.

    Parameters
    ----------
    pieces : tuple of Piece
        All of the same shape.
    axis : int
        Along which they are joined.
    shape : tuple of int or None
        The shape that is given to these; None if they have it.
    """

    pieces: Tuple[Piece, ...]
    axis: int
    shape: Optional[Shape]

    def made(self, operators: Operators, tensors: Sequence[Tensor]) -> Tensor:
        """Return the tensor."""
        found = [piece.taken(operators, tensors) for piece in self.pieces]
        whole = found[0] if len(found) == 1 else operators.concat(*found, axis=self.axis)
        return whole if self.shape is None else operators.reshape(whole, shape=self.shape)


@dataclass(frozen=True)
class NativeLayout:
    """The way from native tensors to the parameter that they hold, and back.

    Parameters
    ----------
    shapes : tuple of tuple of int
        Of the native tensors.
    joining : Arrangement
        Makes the parameter of them.
    parting : tuple of Arrangement
        Make each of them of the parameter.
    """

    shapes: Tuple[Shape, ...]
    joining: Arrangement
    parting: Tuple[Arrangement, ...]

    def joined(self, operators: Operators, natives: Sequence[Tensor]) -> Tensor:
        """Return the parameter, or what stands as it does."""
        return self.joining.made(operators, natives)

    def parted(self, operators: Operators, parameter: Tensor) -> List[Tensor]:
        """Return the native tensors."""
        return [arrangement.made(operators, [parameter]) for arrangement in self.parting]


def native_layout(shape: Shape, natives: Sequence[Array]) -> Optional[NativeLayout]:
    """Return how a parameter stands.

    Parameters
    ----------
    shape : tuple of int
        Of the parameter.
    natives : sequence of ndarray
        The native tensors, where each element is the number of the parameter's element that is there.

    Returns
    -------
    NativeLayout or None
        None if these have not each element once, or in an order that few pieces show.
    """
    size = math.prod(shape)
    flat = [np.asarray(native).reshape(-1) for native in natives]
    every = np.sort(np.concatenate(flat))
    if every.dtype.kind not in "iu" or not np.array_equal(every, np.arange(size)):
        return None
    owners, places = np.empty(size, np.intp), np.empty(size, np.intp)
    for owner, numbers in enumerate(flat):
        owners[numbers] = owner
        places[numbers] = np.arange(len(numbers))
    shapes = tuple(tuple(int(n) for n in native.shape) for native in natives)
    joining = _arrangement(shape, shapes, owners, places)
    parting = [_arrangement(own, [shape], np.zeros_like(n), n) for own, n in zip(shapes, flat)]
    if joining is None or None in parting:
        return None
    return NativeLayout(shapes, joining, tuple(found for found in parting if found is not None))


_Run = Tuple[int, int]
"""How many elements follow one another, and how far they are apart in the tensor that they are in."""
_Cut = Tuple[int, int, int]
"""An axis: its size, the first index that is taken, and the one after the last."""


def _arrangement(
    shape: Shape, sources: Sequence[Shape], owners: Array, places: Array
) -> Optional[Arrangement]:
    """Return a tensor of elements that are at places of the sources that own them; None if it takes many pieces."""
    runs: List[_Run] = []
    while True:
        further = _even(owners, places)
        if further is None or not _fit(
            [*runs, further], sources, owners[:: further[0]], places[:: further[0]]
        ):
            break
        runs.append(further)
        owners, places = owners[:: further[0]], places[:: further[0]]
    extents = tuple(count for count, _ in reversed(runs)) or (1,)
    axis, again = 0, _again(owners, places)
    if again is not None and _fit([*runs, again], sources, *_first(again, owners, places)):
        owners, places = _first(again, owners, places)
        axis, runs, extents = 1, [*runs, again], (again[0], *extents)
    if len(places) > MAX_PIECES or not _fit(runs, sources, owners, places):
        return None
    pieces = tuple(_piece(int(o), sources[o], runs, int(place), extents) for o, place in zip(owners, places))
    joined = (*extents[:axis], extents[axis] * len(pieces), *extents[axis + 1 :])
    return Arrangement(pieces, axis, None if joined == shape else shape)


def _even(owners: Array, places: Array) -> Optional[_Run]:
    """Return the longest run that all elements come in: of one owner, and evenly apart; None if that is one element."""
    if len(places) < 2:
        return None
    steps = np.diff(places)
    ends = np.flatnonzero((np.diff(owners) != 0) | (steps != steps[0])) + 1
    count = int(np.gcd.reduce(np.append(ends, len(places))))
    return (count, int(steps[0])) if count > 1 else None


def _again(owners: Array, places: Array) -> Optional[_Run]:
    """Return how often the first elements come again, and how far apart, in whatever order they are themselves."""
    for period in range(2, min(MAX_PIECES, len(places) // 2) + 1):
        if len(places) % period:
            continue
        table = places.reshape(-1, period)
        step = int(table[1, 0] - table[0, 0])
        expected = table[0] + step * np.arange(len(table))[:, None]
        if np.array_equal(table, expected) and not (owners.reshape(-1, period) != owners[:period]).any():
            return len(table), step
    return None


def _first(again: _Run, owners: Array, places: Array) -> Tuple[Array, Array]:
    """Return the elements that come again."""
    period = len(places) // again[0]
    return owners[:period], places[:period]


def _fit(runs: Sequence[_Run], sources: Sequence[Shape], owners: Array, places: Array) -> bool:
    """Tell whether runs from all places can be cut out."""
    heads = zip(owners, places)
    return all(_cuts(runs, math.prod(sources[owner]), int(place)) is not None for owner, place in heads)


def _cuts(runs: Sequence[_Run], size: int, place: int) -> Optional[List[_Cut]]:
    """Return what is cut to have runs from a place: an axis each, the widest step first.

    An axis of what is left between the last step and the next element may follow.
    """
    found, left, rest = [], size, place
    for count, step in sorted(runs, key=_step, reverse=True):
        if step < 1 or left % step != 0 or rest // step + count > left // step:
            return None
        found.append((left // step, rest // step, rest // step + count))
        left, rest = step, rest % step
    if left > 1 or not found:
        found.append((left, rest, rest + 1))
    return found


def _step(run: _Run) -> int:
    return run[1]


def _piece(source: int, shape: Shape, runs: Sequence[_Run], place: int, extents: Shape) -> Piece:
    cuts = _cuts(runs, math.prod(shape), place) or []
    axes = tuple(size for size, _, _ in cuts)
    cut = [(axis, start, end) for axis, (size, start, end) in enumerate(cuts) if end - start < size]
    widest = sorted(runs, key=_step, reverse=True)
    order = (*(widest.index(run) for run in reversed(runs)), *range(len(runs), len(cuts)))
    left = tuple(cuts[axis][2] - cuts[axis][1] for axis in order)
    starts_and_ends = tuple(zip(*cut))
    return Piece(
        source,
        None if axes == shape else axes,
        Slice(*starts_and_ends) if cut else None,
        None if order == tuple(range(len(cuts))) else order,
        None if left == extents else extents,
    )
