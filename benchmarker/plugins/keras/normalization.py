"""Normalizations."""

from __future__ import annotations

import functools
from typing import Any

from benchmarker.plugins.common.axis_orders import graph_order
from benchmarker.plugins.keras.binding_site import Site
from benchmarker.plugins.keras.layouts import Native


def batch_normalization(site: Site, *, epsilon: float = 1e-5, momentum: float = 0.9) -> Native:
    """``ops.moments`` and ``ops.batch_normalization``, as ``keras.layers.BatchNormalization`` calls them."""
    from keras import ops

    axis = site.axis(1, site.image())
    others = [a for a in range(site.rank(0)) if a != axis]
    axis = -1 if axis == site.rank(0) - 1 else axis
    normalize = functools.partial(ops.batch_normalization, axis=axis, epsilon=epsilon)

    def infer(x: Any, scale: Any, b: Any, mean: Any, var: Any) -> Any:
        return normalize(x, mean, var, offset=b, scale=scale)

    def train(x: Any, scale: Any, b: Any, mean: Any, var: Any) -> Any:
        batch_mean, batch_var = ops.moments(x, axes=others)
        if site.setting.updating:
            mean.assign(mean * momentum + batch_mean * (1.0 - momentum))
            var.assign(var * momentum + batch_var * (1.0 - momentum))
        return normalize(x, batch_mean, batch_var, offset=b, scale=scale)

    return train if site.setting.training else infer


def layer_normalization(site: Site, *, axis: int = -1, epsilon: float = 1e-5) -> Native:
    """``ops.layer_normalization``."""
    from keras import ops

    rank = site.rank(0)
    axes = graph_order(rank)[axis % rank :]
    chosen = -1 if len(axes) == 1 else list(axes)
    return lambda x, scale, b: ops.layer_normalization(x, scale, b, axis=chosen, epsilon=epsilon)


def rms_normalization(site: Site, *, epsilon: float = 1e-5) -> Native:
    """``ops.rms_normalization``."""
    from keras import ops

    return lambda x, scale: ops.rms_normalization(x, scale, axis=-1, epsilon=epsilon)


def group_normalization(site: Site, *, num_groups: int, epsilon: float = 1e-5) -> Native:
    """``ops.moments`` of each group, as ``keras.layers.GroupNormalization`` calls it."""
    from keras import ops

    order = site.image()
    shape = tuple(site.shape(0)[axis] for axis in order)
    place = site.axis(1, order)
    channels = shape[place]
    grouped = (*shape[:place], num_groups, channels // num_groups, *shape[place + 1 :])
    axes = [axis for axis in range(1, len(grouped)) if axis != place]
    each = (1,) * place + (num_groups, channels // num_groups) + (1,) * (len(shape) - place - 1)

    def run(x: Any, scale: Any, b: Any) -> Any:
        groups = ops.reshape(x, grouped)
        mean, variance = ops.moments(groups, axes=axes, keepdims=True)
        factor = ops.rsqrt(variance + epsilon) * ops.reshape(scale, each)
        return ops.reshape(groups * factor + (ops.reshape(b, each) - mean * factor), shape)

    return run
