"""Operators on single elements, normalization and matrix products in Chainer."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from benchmarker.graph.attributes import Gemm
from benchmarker.plugins.chainer.binding_site import Native, Shape, Site, array_of, axis_of

# --- elements ------------------------------------------------------------------------------------


def affine(site: Site, *, alpha: float = 1.0, beta: float = 0.0) -> Native:
    """Python's own operators on a variable and a number."""
    if beta == 0.0:
        return lambda x: x * alpha
    if alpha == 1.0:
        return lambda x: x + beta
    return lambda x: x * alpha + beta


def clip(site: Site, *, min: float, max: float) -> Native:
    """Chainer's ``clip`` wants two bounds that differ."""
    from chainer import functions

    if min < max:
        return functools.partial(functions.clip, x_min=min, x_max=max)
    return lambda x: functions.clip(functions.clip(x, min, None), None, max)


def leaky_relu(site: Site, *, alpha: float = 0.01) -> Native:
    """Chainer's own slope is 0.2."""
    from chainer import functions

    return functools.partial(functions.leaky_relu, slope=alpha)


def cast(site: Site, *, to: str = "float32") -> Native:
    """Nothing flows back through it, so an array is enough."""
    dtype: Any = {"float32": site.dtype, "bool": np.bool_}.get(to, np.int32)
    return lambda x: array_of(x).astype(dtype)


def stop_gradient(site: Site) -> Native:
    """The array alone has no history."""
    return array_of


def dropout(site: Site, *, ratio: float = 0.5) -> Native:
    """Chainer's generator draws the mask; nothing is dropped while only gradients are asked for."""
    from chainer import as_variable, functions

    if site.training and site.updating and ratio > 0.0:
        return functools.partial(functions.dropout, ratio=ratio)
    identity: Native = as_variable
    return identity


def softmax(site: Site, *, axis: int = -1) -> Native:
    """Chainer's own axis is 1."""
    from chainer import functions

    return functools.partial(functions.softmax, axis=axis_of(site, axis))


def log_softmax(site: Site, *, axis: int = -1) -> Native:
    """Chainer's own axis is 1."""
    from chainer import functions

    return functools.partial(functions.log_softmax, axis=axis_of(site, axis))


# --- normalization -------------------------------------------------------------------------------


def batch_normalization(site: Site, *, epsilon: float = 1e-5, momentum: float = 0.9) -> Native:
    """In training, running statistics are arrays that Chainer moves in place."""
    from chainer import functions

    if not site.training:
        return functools.partial(functions.fixed_batch_normalization, eps=epsilon)
    if not site.updating:
        return lambda x, scale, b, mean, var: functions.batch_normalization(x, scale, b, eps=epsilon)

    def normalize(x: Any, scale: Any, b: Any, mean: Any, var: Any) -> Any:
        return functions.batch_normalization(
            x, scale, b, eps=epsilon, running_mean=mean, running_var=var, decay=momentum
        )

    return normalize


def layer_normalization(site: Site, *, axis: int = -1, epsilon: float = 1e-5) -> Native:
    """Chainer normalizes the rows of a matrix."""
    from chainer import functions

    shape, place = site.shape(0), axis_of(site, axis)
    features = (math.prod(shape[place:]),)
    normalize = functools.partial(functions.layer_normalization, eps=epsilon)
    if len(shape) == 2 and place == 1:
        return normalize
    flat = site.shape(1) == features

    def normalize_rows(x: Any, scale: Any, b: Any) -> Any:
        if not flat:
            scale, b = functions.reshape(scale, features), functions.reshape(b, features)
        rows = functions.reshape(x, (-1, *features))
        return functions.reshape(normalize(rows, scale, b), shape)

    return normalize_rows


def group_normalization(site: Site, *, num_groups: int, epsilon: float = 1e-5) -> Native:
    """One scale and shift a channel, as in ONNX."""
    from chainer import functions

    def normalize(x: Any, scale: Any, b: Any) -> Any:
        return functions.group_normalization(x, num_groups, scale, b, eps=epsilon)

    return normalize


# --- matrices ------------------------------------------------------------------------------------


def gemm(site: Site, *, product: Gemm) -> Native:
    """A fully connected layer is ``linear``, anything else ``matmul``."""
    from chainer import functions

    bias: Shape | None = site.shape(2) if site.has(2) else None
    rows = site.shape(1)[0]
    unscaled = bias is None or (bias == (rows,) and product.beta == 1.0)
    if product.is_dense and unscaled:
        linear: Native = functions.linear
        return linear
    alpha, beta, trans_a, trans_b = product.alpha, product.beta, product.trans_a, product.trans_b

    def scaled_product(a: Any, b: Any, c: Any = None) -> Any:
        y = functions.matmul(a, b, trans_a, trans_b)
        y = y if alpha == 1.0 else alpha * y
        if c is None:
            return y
        return y + (c if beta == 1.0 else beta * c)

    return scaled_product


def causal_mask(site: Site) -> Native:
    """Choose between the scores and minus infinity by a lower triangle."""
    from chainer import functions

    past = site.constant(np.tri(site.shape(0)[-1], dtype=np.bool_))
    nothing = site.constant(np.array(-math.inf))
    return lambda x: functions.where(past, x, nothing)
