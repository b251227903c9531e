"""The ways from one order of axes to another, as callables of Keras' tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from benchmarker.plugins.common.axis_orders import Order, Shape, graph_order, moves_elements, permutation

Native = Callable[..., Any]
"""A callable of tensors or Keras variables."""


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
    from keras import ops

    if have == want:
        return None
    if len(want) > len(have):
        raised = (1,) * (len(want) - len(have)) + shape
        return _chained(
            arrangement(shape, have, graph_order(len(have))),
            functools.partial(ops.reshape, newshape=raised),
            arrangement(raised, graph_order(len(want)), want),
        )
    if moves_elements(shape, have, want):
        return functools.partial(ops.transpose, axes=list(permutation(have, want)))
    return functools.partial(ops.reshape, newshape=tuple(shape[axis] for axis in want))


def _chained(*steps: Native | None) -> Native:
    def run(x: Any) -> Any:
        for step in steps:
            x = x if step is None else step(x)
        return x

    return run
