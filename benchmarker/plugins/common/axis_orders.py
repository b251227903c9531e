"""Orders of axes: how tensors stand where images are channels last, and what an operator does about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

Order = tuple[int, ...]
"""Native axis ``i`` is the graph's axis ``order[i]``."""
Shape = tuple[int, ...]

_Item = TypeVar("_Item")


def graph_order(rank: int) -> Order:
    """Return the order of a tensor that stands as in the graph."""
    return tuple(range(rank))


def image_order(rank: int, channels_last: bool = True) -> Order:
    """Return the order of an image: ``N spatial... C``, or the graph's, which tensors of up to two axes have anyway."""
    return (0, *range(2, rank), 1) if channels_last and rank > 2 else graph_order(rank)


def filter_order(rank: int) -> Order:
    """Return the order of a filter that stands ``spatial... in out``.

    The filter of a transposed convolution stands so too: its axes are those of the convolution whose
    gradient it is.
    """
    return (*range(2, rank), 1, 0)


def permutation(have: Order, want: Order) -> Order:
    """Return the axes to transpose a tensor by that stands in ``have``, so that it stands in ``want``."""
    return tuple(have.index(axis) for axis in want)


def inverse(order: Order) -> Order:
    """Return the axes to transpose a tensor by that stands in ``order``, so that it stands as in the graph."""
    return permutation(order, graph_order(len(order)))


def moves_elements(shape: Shape, have: Order, want: Order) -> bool:
    """Return whether going from one order to another takes a transpose: no reshape does if axes of size 1 move alone.

    ``shape`` is the graph's.
    """
    return [axis for axis in have if shape[axis] != 1] != [axis for axis in want if shape[axis] != 1]


def without(order: Order, axes: Sequence[int]) -> Order:
    """Return the order of a tensor that stood in ``order`` and lost the graph's ``axes``."""
    left = [axis for axis in range(len(order)) if axis not in axes]
    return tuple(left.index(axis) for axis in order if axis in left)


def broadcast_order(shapes: Sequence[Shape], orders: Sequence[Order]) -> Order:
    """Return the order of what operands broadcast to: that of the largest, which should not be the one to move.

    The graph's if it has fewer axes than the result. ``shapes`` are the graph's.
    """
    rank = max(map(len, shapes))
    largest = max(range(len(shapes)), key=lambda position: math.prod(shapes[position]))
    return orders[largest] if len(shapes[largest]) == rank else graph_order(rank)


def across(spatial: Sequence[_Item], other: _Item, channels_last: bool) -> tuple[_Item, ...]:
    """Return what there is for each native axis of an image: that of the spatial ones, and the others'."""
    return (other, *spatial, other) if channels_last else (other, other, *spatial)
