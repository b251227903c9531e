"""Reductions, shapes, and the choice of elements."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.attributes import Slice
from benchmarker.plugins.common.axis_orders import without
from benchmarker.plugins.keras.binding_site import Binder, Site
from benchmarker.plugins.keras.layouts import Native


def reduction(name: str) -> Binder:
    """Return the binder of a reduction by a function of ``keras.ops``."""

    def bind(site: Site, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Native:
        from keras import ops

        rank, order = site.rank(0), site.order(0)
        chosen = [axis % rank for axis in axes] or list(range(rank))
        site.take(0, order)
        site.give(order if keepdims else without(order, chosen))
        native = tuple(order.index(axis) for axis in chosen)
        function = getattr(ops, name)
        return lambda x: function(x, axis=native, keepdims=keepdims)

    return bind


def top_k(site: Site, *, k: int) -> Native:
    """``ops.top_k``, of which the places are left."""
    from keras import ops

    return lambda x: ops.top_k(x, k)[0]


def top_k_indices(site: Site, *, k: int) -> Native:
    """``ops.top_k``; over PyTorch, which has equal values in any order, ``ops.argsort``."""
    from keras import ops

    dtype = site.setting.native_type("int64")
    if site.setting.backend == "torch":
        return lambda x: ops.argsort(ops.negative(x), axis=-1)[..., :k]
    return lambda x: ops.cast(ops.top_k(x, k)[1], dtype)


def arg_max(site: Site, *, axis: int = 0, keepdims: bool = False) -> Native:
    """``ops.argmax``, which gives 32-bit integers."""
    from keras import ops

    native, dtype = axis % site.rank(0), site.setting.native_type("int64")
    return lambda x: ops.cast(ops.argmax(x, axis=native, keepdims=keepdims), dtype)


def cum_sum(site: Site, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Native:
    """``ops.cumsum``, of which Keras has the plain one alone."""
    from keras import ops

    native, dtype = axis % site.rank(0), site.setting.native_type(site.result.dtype)

    def cumulate(x: Any) -> Any:
        turned = ops.flip(x, axis=native) if reverse else x
        total = ops.cumsum(turned, axis=native, dtype=dtype)
        total = ops.subtract(total, turned) if exclusive else total
        return ops.flip(total, axis=native) if reverse else total

    return cumulate


def scatter_nd(site: Site) -> Native:
    """``ops.scatter_update``, which takes a matrix of indices."""
    from keras import ops

    depth = site.shape(1)[-1]
    rest = site.shape(0)[depth:]

    def scatter(x: Any, indices: Any, updates: Any) -> Any:
        rows, values = ops.reshape(indices, (-1, depth)), ops.reshape(updates, (-1, *rest))
        return ops.scatter_update(x, rows, values)

    return scatter


def reshape(site: Site, *, shape: tuple[int, ...]) -> Native:
    """``ops.reshape``; an image that only dense layers use is flattened as it stands."""
    from keras import ops

    if site.flat:
        site.take(0, site.order(0))
    target = site.result.shape
    return lambda x: ops.reshape(x, target)


def flatten(site: Site) -> Native:
    """``ops.reshape``."""
    return reshape(site, shape=(0, -1))


def transpose(site: Site, *, perm: tuple[int, ...]) -> Native:
    """``ops.transpose``."""
    from keras import ops

    return lambda x: ops.transpose(x, perm)


def concat(site: Site, *, axis: int) -> Native:
    """``ops.concatenate``."""
    from keras import ops

    native = site.axis(axis, site.together())
    return lambda *xs: ops.concatenate(xs, axis=native)


def split(site: Site, *, axis: int, num_outputs: int) -> Native:
    """``ops.split``."""
    from keras import ops

    native = site.axis(axis, site.keep())
    return lambda x: tuple(ops.split(x, num_outputs, axis=native))


def slice_(site: Site, *, taken: Slice) -> Native:
    """Python's slicing, which tensors of every backend have."""
    order = site.keep()
    index = [slice(None)] * len(order)
    for axis, part in taken.parts:
        index[site.axis(axis, order)] = part
    place = tuple(index)
    return lambda x: x[place]


def pad(site: Site, *, pads: tuple[int, ...], value: float = 0.0) -> Native:
    """``ops.pad``."""
    from keras import ops

    order = site.keep()
    pairs = [(pads[axis], pads[len(order) + axis]) for axis in order]
    return lambda x: ops.pad(x, pairs, constant_values=value)


def expand(site: Site, *, shape: tuple[int, ...]) -> Native:
    """``ops.broadcast_to``."""
    from keras import ops

    return lambda x: ops.broadcast_to(x, shape)


def gather(site: Site, *, axis: int = 0) -> Native:
    """``ops.take``, as ``keras.layers.Embedding`` calls it."""
    from keras import ops

    native = axis % site.rank(0)
    return lambda x, indices: ops.take(x, indices, axis=native)


def gather_elements(site: Site, *, axis: int = -1) -> Native:
    """``ops.take_along_axis``."""
    from keras import ops

    native = axis % site.rank(0)
    return lambda x, indices: ops.take_along_axis(x, indices, axis=native)
