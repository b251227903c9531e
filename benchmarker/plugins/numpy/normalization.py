"""Normalization, over the mini-batch or over features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    channel_mean,
    channel_sum,
    per_channel,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _normalized(rows: Array, epsilon: float) -> tuple[Array, Array]:
    """Return each row of ``(..., features)`` with mean 0 and variance 1, and the factor that did it."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    inverse = 1.0 / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + epsilon)
    centred *= inverse
    return centred, inverse


def _normalized_gradient(normal: Array, inverse: Array, d_normal: Array) -> Array:
    """Go back through :func:`_normalized`, whose mean and variance depend on the row."""
    dx: Array = d_normal - d_normal.mean(axis=-1, keepdims=True)
    dx -= normal * (d_normal * normal).mean(axis=-1, keepdims=True)
    dx *= inverse
    return dx


def _features(x: Array, axis: int) -> tuple[int, ...]:
    """Return a shape ``(..., all features from axis on)``."""
    return (*x.shape[: axis % x.ndim], -1)


class NormalizationOperators(ArrayOperators):
    """Normalization of arrays."""

    def batch_normalization(
        self,
        x: Array,
        scale: Array,
        b: Array,
        mean: Array,
        var: Array,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Array:
        batch_mean, batch_var = mean, var
        if self.training:
            batch_mean = channel_mean(x)
            batch_var = channel_mean(np.square(x - per_channel(batch_mean, x.ndim)))
        if self.training and self.update_statistics:
            mean[...] = momentum * mean + (1.0 - momentum) * batch_mean
            var[...] = momentum * var + (1.0 - momentum) * batch_var
        y = x - per_channel(batch_mean, x.ndim)
        y *= per_channel(scale / np.sqrt(batch_var + epsilon), x.ndim)
        y += per_channel(b, x.ndim)
        return y

    def layer_normalization(
        self, x: Array, scale: Array, b: Array, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Array:
        y, _ = _normalized(x.reshape(_features(x, axis)), epsilon)
        y = y.reshape(x.shape)
        y *= scale
        y += b
        return y

    def group_normalization(
        self, x: Array, scale: Array, b: Array, *, num_groups: int, epsilon: float = 1e-5
    ) -> Array:
        y, _ = _normalized(x.reshape(x.shape[0], num_groups, -1), epsilon)
        y = y.reshape(x.shape)
        y *= per_channel(scale, x.ndim)
        y += per_channel(b, x.ndim)
        return y


def batch_normalization_gradient(call: Call) -> InputGradients:
    """Training's meaning: mean and variance depend on ``x`` (Ioffe & Szegedy 2015, section 3)."""
    x, scale = call.inputs[:2]
    dy = call.gradients[0]
    mean = channel_mean(x)
    centred = x - per_channel(mean, x.ndim)
    inverse = 1.0 / np.sqrt(channel_mean(np.square(centred)) + call.attributes["epsilon"])
    normal = centred
    normal *= per_channel(inverse, x.ndim)
    d_scale = channel_sum(dy * normal)
    d_shift = channel_sum(dy)
    per_value = x.shape[1] / x.size
    normal *= per_channel(d_scale * per_value, x.ndim)
    normal += per_channel(d_shift * per_value, x.ndim)
    dx = dy - normal
    dx *= per_channel(scale * inverse, x.ndim)
    return dx, d_scale, d_shift, None, None


def layer_normalization_gradient(call: Call) -> InputGradients:
    """Mean and variance depend on ``x``; scale and shift see every row."""
    x, scale = call.inputs[:2]
    (dy,), axis = call.gradients, call.attributes["axis"]
    features = _features(x, axis)
    normal, inverse = _normalized(x.reshape(features), call.attributes["epsilon"])
    before = tuple(range(axis % x.ndim))
    d_scale = (dy * normal.reshape(x.shape)).sum(axis=before)
    dx = _normalized_gradient(normal, inverse, (dy * scale).reshape(features))
    return dx.reshape(x.shape), d_scale, dy.sum(axis=before)


def group_normalization_gradient(call: Call) -> InputGradients:
    """Mean and variance depend on ``x``; scale and shift see every sample and position."""
    x, scale = call.inputs[:2]
    (dy,) = call.gradients
    groups = (x.shape[0], call.attributes["num_groups"], -1)
    normal, inverse = _normalized(x.reshape(groups), call.attributes["epsilon"])
    d_scale = channel_sum(dy * normal.reshape(x.shape))
    dx = _normalized_gradient(normal, inverse, (dy * per_channel(scale, x.ndim)).reshape(groups))
    return dx.reshape(x.shape), d_scale, channel_sum(dy)


GRADIENTS: Gradients = {
    "batch_normalization": batch_normalization_gradient,
    "layer_normalization": layer_normalization_gradient,
    "group_normalization": group_normalization_gradient,
}
