"""Operators that move, choose or join elements, and reductions, in Chainer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarker.graph.attributes import Slice
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import Pairs, axis_pairs
from benchmarker.plugins.chainer.binding_site import Native, Shape, Site, array_of, axis_of


def reshape(site: Site, *, shape: Shape) -> Native:
    """Chainer knows -1 but no 0."""
    from chainer import functions

    target = Shapes().reshape(TensorType(site.shape(0)), shape=shape).shape
    return functools.partial(functions.reshape, shape=target)


def flatten(site: Site) -> Native:
    """Chainer's own ``flatten`` joins the mini-batch too."""
    return reshape(site, shape=(0, -1))


def transpose(site: Site, *, perm: Shape) -> Native:
    """Permute the axes."""
    from chainer import functions

    return functools.partial(functions.transpose, axes=perm)


def concat(site: Site, *, axis: int) -> Native:
    """Chainer takes a sequence."""
    from chainer import functions

    place = axis_of(site, axis)
    return lambda *xs: functions.concat(xs, axis=place)


def split(site: Site, *, axis: int, num_outputs: int) -> Native:
    """Cut into equal parts."""
    from chainer import functions

    place = axis_of(site, axis)
    return functools.partial(functions.split_axis, indices_or_sections=num_outputs, axis=place)


def cut(shape: Shape, axes: Shape, starts: Shape, ends: Shape) -> Native:
    """Return what takes ``start:end`` of each axis of a tensor of that shape.

    By ``split_axis``: the gradient of ``get_item`` adds up element by element, 40 times slower on a CPU.
    """
    from chainer import functions

    parts = []
    for axis, start, end in zip(axes, starts, ends):
        places = [place for place in (start, end) if 0 < place < shape[axis]]
        if places:
            parts.append((places, axis, 1 if start > 0 else 0))

    def run(x: Any) -> Any:
        for places, axis, part in parts:
            x = functions.split_axis(x, places, axis)[part]
        return x

    return run


def slice_(site: Site, *, taken: Slice) -> Native:
    """Neighbours by ``split_axis``, others by ``get_item``."""
    from chainer import functions

    if taken.is_contiguous:
        return cut(site.shape(0), taken.axes, taken.starts, taken.ends)
    return functools.partial(functions.get_item, slices=taken.index(len(site.shape(0))))


def pad(site: Site, *, pads: Shape, value: float = 0.0) -> Native:
    """Surround with a constant."""
    return _padding(axis_pairs(pads), value)


def spatial_padding(pairs: Pairs, value: float) -> Native:
    """Return what pads the axes of an image after its first two."""
    return _padding([(0, 0), (0, 0), *pairs], value)


def _padding(pairs: Pairs, value: float) -> Native:
    from chainer import functions

    return lambda x: functions.pad(x, pairs, "constant", constant_values=value)


def expand(site: Site, *, shape: Shape) -> Native:
    """Broadcast."""
    from chainer import functions

    target = Shapes().expand(TensorType(site.shape(0)), shape=shape).shape
    return functools.partial(functions.broadcast_to, shape=target)


def gather(site: Site, *, axis: int = 0) -> Native:
    """Rows of a table by ``embed_id``, whose gradient adds whole rows; other slices by ``get_item``."""
    from chainer import functions

    place, indices = axis_of(site, axis), site.shape(1)
    table = site.shape(0)
    if place == 0 and indices and len(table) == 2:
        return lambda x, indices: functions.embed_id(indices, x)
    before = (slice(None),) * place
    return lambda x, indices: functions.get_item(x, (*before, array_of(indices)))


def gather_elements(site: Site, *, axis: int = -1) -> Native:
    """One element a row by ``select_item``, more by ``get_item``."""
    from chainer import functions

    place, shape = axis_of(site, axis), site.shape(1)
    if len(shape) == 2 and place == 1 and shape[1] == 1:

        def select(x: Any, indices: Any) -> Any:
            return functions.reshape(functions.select_item(x, array_of(indices).reshape(-1)), shape)

        return select
    grid: list[Any] = [site.constant(index) for index in np.ogrid[tuple(slice(size) for size in shape)]]
    before, after = tuple(grid[:place]), tuple(grid[place + 1 :])
    return lambda x, indices: functions.get_item(x, (*before, array_of(indices), *after))


def reduction(name: str) -> Callable[..., Native]:
    """Return the binder of a reduction over axes, all of them if there are none."""

    def bind(site: Site, *, axes: Shape = (), keepdims: bool = False) -> Native:
        from chainer import functions

        over = tuple(sorted(axis_of(site, axis) for axis in axes)) or None
        return functools.partial(getattr(functions, name), axis=over, keepdims=keepdims)

    return bind


def reduce_max(site: Site, *, axes: Shape = (), keepdims: bool = False) -> Native:
    """Chainer's own maximum but for its gradient: see :func:`_max_node`."""
    over = tuple(sorted(axis_of(site, axis) for axis in axes)) or None
    node = _max_node()
    return lambda x: node(over, keepdims).apply((x,))[0]


@functools.cache
def _max_node() -> Any:
    """Return the function node of a maximum over axes; made once, for it needs Chainer."""
    from chainer import functions
    from chainer.functions.math.minmax import Max

    class SharedMax(Max):  # type: ignore[misc]
        """Equal elements share the gradient; Chainer's own gives each of them the whole, which is no subgradient."""

        def backward(self, indexes: Any, gy: tuple[Any, ...]) -> tuple[Any, ...]:
            x, y = self.get_retained_inputs()[0].array, self.get_retained_outputs()[0].array
            over = tuple(range(x.ndim)) if self.axis is None else self.axis
            shape = tuple(1 if axis in over else size for axis, size in enumerate(x.shape))
            largest = (x == y.reshape(shape)).astype(x.dtype)
            largest /= largest.sum(axis=over, keepdims=True)
            return (functions.broadcast_to(gy[0].reshape(shape), x.shape) * largest,)

    return SharedMax


def cum_sum(site: Site, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Native:
    """Chainer has the plain sums alone."""
    from chainer import functions

    place = axis_of(site, axis)

    def cumulate(x: Any) -> Any:
        turned = functions.flip(x, place) if reverse else x
        total = functions.cumsum(turned, place)
        total = total - turned if exclusive else total
        return functions.flip(total, place) if reverse else total

    return cumulate


def scatter_nd(site: Site) -> Native:
    """``scatter_add`` to what has zeros at those places."""
    from chainer import functions

    depth = site.shape(1)[-1]
    everywhere = site.constant(np.ones(site.shape(0), np.bool_))
    nothing = site.constant(np.zeros((), np.float32))

    def scatter(x: Any, indices: Any, updates: Any) -> Any:
        index, kept = array_of(indices), everywhere.copy()
        places = tuple(index[..., i] for i in range(depth))
        kept[places] = False
        return functions.scatter_add(functions.where(kept, x, nothing), places, updates)

    return scatter


def top_k(site: Site, *, k: int) -> Native:
    """Chainer has no function for it: see :func:`_top_k_node`."""
    node = _top_k_node()
    return lambda x: node(k).apply((x,))[0]


@functools.cache
def _top_k_node() -> Any:
    """Return the function node of the largest values along the last axis; made once, for it needs Chainer."""
    from chainer import FunctionNode, Variable, backend

    class TopK(FunctionNode):  # type: ignore[misc]
        """Partition, then sort what is kept; the gradient goes where the values came from."""

        def __init__(self, k: int) -> None:
            self._k = k

        def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            (x,) = inputs
            xp = backend.get_array_module(x)
            self._shape = x.shape
            rows = x.reshape(-1, x.shape[-1])
            first = xp.arange(rows.shape[0])[:, None]
            kept = xp.argpartition(rows, rows.shape[1] - self._k, axis=1)[:, rows.shape[1] - self._k :]
            order = xp.argsort(-rows[first, kept], axis=1)
            self._places = (first, kept[first, order])
            return (rows[self._places].reshape(*x.shape[:-1], self._k),)

        def backward(self, indexes: Any, grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
            gradient = grad_outputs[0].array
            xp = backend.get_array_module(gradient)
            spread = xp.zeros((self._places[0].shape[0], self._shape[-1]), gradient.dtype)
            spread[self._places] = gradient.reshape(-1, self._k)
            return (Variable(spread.reshape(self._shape)),)

    return TopK
