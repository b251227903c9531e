"""How the axes of tensors stand: orders of axes, and the ways between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Order = tuple[int, ...]
"""Native axis ``i`` is the graph's axis ``order[i]``."""
Shape = tuple[int, ...]
Native = Callable[..., Any]
"""A callable of tensors or Keras variables."""


def graph_order(rank: int) -> Order:
    """Return the order of a tensor that stands as in the graph."""
    return tuple(range(rank))


def image_order(rank: int, channels_last: bool) -> Order:
    """Return the order of an image: ``N spatial... C``, or the graph's."""
    return (0, *range(2, rank), 1) if channels_last and rank > 2 else graph_order(rank)


def kernel_order(rank: int) -> Order:
    """Return the order of a kernel as Keras has it, ``spatial... in out``; transposed, ``spatial... out in``."""
    return (*range(2, rank), 1, 0)


def arrangement(shape: Shape, have: Order, want: Order) -> Native | None:
    """Return what brings a tensor from one order of axes into another, None where it stands so already.

    Parameters
    ----------
    shape : tuple of int
        As the graph has it.
    have : tuple of int
        Its order.
    want : tuple of int
        The order wanted, of as many axes or, after those that broadcasting adds in front, more.
    """
    if have == want:
        return None
    if len(want) > len(have):
        raised = (1,) * (len(want) - len(have)) + shape
        return _chained(
            arrangement(shape, have, graph_order(len(have))),
            functools.partial(_reshaped, shape=raised),
            arrangement(raised, graph_order(len(want)), want),
        )
    from keras import ops

    perm = [have.index(axis) for axis in want]
    moving = [axis for axis in perm if shape[have[axis]] != 1]
    if moving == sorted(moving):
        return functools.partial(_reshaped, shape=tuple(shape[axis] for axis in want))
    return functools.partial(ops.transpose, axes=perm)


def _reshaped(x: Any, shape: Shape) -> Any:
    from keras import ops

    return ops.reshape(x, shape)


def _chained(*steps: Native | None) -> Native:
    def run(x: Any) -> Any:
        for step in steps:
            x = x if step is None else step(x)
        return x

    return run
