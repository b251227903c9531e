"""Operators on single elements, and the softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    array_of,
    unbroadcast,
)
from benchmarker.plugins.numpy.error_function import erf

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` by way of tanh, which never overflows."""
    result: Array = 0.5 * np.tanh(0.5 * x) + 0.5
    return result


def softmax(x: Array, axis: int) -> Array:
    """Return the softmax along ``axis``, shifted by the maximum so that nothing overflows."""
    powers: Array = x - x.max(axis=axis, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=axis, keepdims=True)
    return powers


def log_softmax(x: Array, axis: int) -> Array:
    """Return the logarithm of the softmax along ``axis``, shifted likewise."""
    shifted: Array = x - x.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


class ElementwiseOperators(ArrayOperators):
    """Elementwise operators on arrays."""

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def sigmoid(self, x: Array) -> Array:
        return sigmoid(x)

    def tanh(self, x: Array) -> Array:
        return np.tanh(x)

    def add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def sub(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def div(self, a: Array, b: Array) -> Array:
        return np.divide(a, b)

    def minimum(self, a: Array, b: Array) -> Array:
        return np.minimum(a, b)

    def maximum(self, a: Array, b: Array) -> Array:
        return np.maximum(a, b)

    def pow(self, a: Array, b: Array) -> Array:
        return np.power(a, b)

    def affine(self, x: Array, *, alpha: float = 1.0, beta: float = 0.0) -> Array:
        y = x if alpha == 1.0 else alpha * x
        return y if beta == 0.0 else y + beta

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def log(self, x: Array) -> Array:
        return np.log(x)

    def sqrt(self, x: Array) -> Array:
        return np.sqrt(x)

    def log1p(self, x: Array) -> Array:
        return np.log1p(x)

    def expm1(self, x: Array) -> Array:
        return np.expm1(x)

    def sin(self, x: Array) -> Array:
        return np.sin(x)

    def cos(self, x: Array) -> Array:
        return np.cos(x)

    def reciprocal(self, x: Array) -> Array:
        return np.reciprocal(x)

    def abs(self, x: Array) -> Array:
        return np.abs(x)

    def erf(self, x: Array) -> Array:
        return erf(x)

    def clip(self, x: Array, *, min: float, max: float) -> Array:
        return np.clip(x, min, max)

    def leaky_relu(self, x: Array, *, alpha: float = 0.01) -> Array:
        return np.where(x > 0, x, alpha * x)

    def softplus(self, x: Array) -> Array:
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

    def tan(self, x: Array) -> Array:
        return np.tan(x)

    def sign(self, x: Array) -> Array:
        return np.sign(x)

    def floor(self, x: Array) -> Array:
        return np.floor(x)

    def ceil(self, x: Array) -> Array:
        return np.ceil(x)

    def round(self, x: Array) -> Array:
        return np.rint(x)

    def quantize_dequantize(
        self,
        x: Array,
        *,
        scale: tuple[float, ...],
        zero_point: int = 0,
        axis: int | None = None,
        signed: bool = True,
        bits: int = 8,
    ) -> Array:
        shape = [1] * x.ndim
        if axis is not None:
            shape[axis] = len(scale)
        step = np.asarray(scale, x.dtype, like=array_of(x)).reshape(shape)
        low = -(1 << (bits - 1)) if signed else 0
        q = np.clip(np.rint(x / step) + zero_point, low, low + (1 << bits) - 1)
        y: Array = (q - zero_point) * step
        return y.astype(x.dtype, copy=False)  # NumPy 1 clips by numbers of 32 bits in float64

    def integer_div(self, a: Array, b: Array) -> Array:
        quotient: Array = np.abs(a) // np.abs(b) * (np.sign(a) * np.sign(b))
        return quotient

    def mod(self, a: Array, b: Array) -> Array:
        return np.mod(a, b)

    def cast(self, x: Array, *, to: str = "float32") -> Array:
        return x.astype(self.dtype if to == "float32" else to)

    def stop_gradient(self, x: Array) -> Array:
        return x

    def dropout(self, x: Array, *, ratio: float = 0.5) -> Array:
        mask = self.dropout_mask(x, ratio)
        return x if mask is None else x * mask

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        """Return what dropout multiplies ``x`` by, 0 or ``1 / (1 - ratio)``; None where it is off."""
        if not self.training or self.generator is None or ratio == 0.0:
            return None
        kept = self.generator.random(x.shape) >= ratio
        return kept.astype(x.dtype) / (1.0 - ratio)

    def softmax(self, x: Array, *, axis: int = -1) -> Array:
        return softmax(x, axis)

    def log_softmax(self, x: Array, *, axis: int = -1) -> Array:
        return log_softmax(x, axis)


# --- gradients -------------------------------------------------------------------------------


def _near(distance: Array, band: float) -> Array:
    """Return where rounding might bring ``distance`` to the other side of 0.

    A distance of exactly 0 is that of a unit that is dead, or of a bias alone: the same in any rounding.
    """
    size = np.abs(distance)
    near: Array = (size > 0.0) & (size < band)
    return near


def relu_gradient(call: Call) -> InputGradients:
    """0 where the output is 0."""
    (x,) = call.inputs
    band, positive = call.band, x > 0
    return (call.gradients[0] * (positive ^ _near(x, band) if band else positive),)


def leaky_relu_gradient(call: Call) -> InputGradients:
    """1, or ``alpha`` where ``x`` is not positive."""
    (x,), (dy,) = call.inputs, call.gradients
    return (np.where((x > 0) ^ _near(x, call.band), dy, call.attributes["alpha"] * dy),)


def clip_gradient(call: Call) -> InputGradients:
    """1 between the bounds, 0 outside."""
    (x,) = call.inputs
    low, high = call.attributes["min"], call.attributes["max"]
    near = _near(x - low, call.band) | _near(x - high, call.band)
    return (call.gradients[0] * (((x >= low) & (x <= high)) ^ near),)


def abs_gradient(call: Call) -> InputGradients:
    """The sign."""
    (x,) = call.inputs
    return (call.gradients[0] * np.where(_near(x, call.band), -np.sign(x), np.sign(x)),)


def sigmoid_gradient(call: Call) -> InputGradients:
    """``y (1 - y)``."""
    y = call.outputs[0]
    return (call.gradients[0] * y * (1.0 - y),)


def tanh_gradient(call: Call) -> InputGradients:
    """``1 - y^2``."""
    return (call.gradients[0] * (1.0 - np.square(call.outputs[0])),)


def softplus_gradient(call: Call) -> InputGradients:
    """The sigmoid."""
    return (call.gradients[0] * sigmoid(call.inputs[0]),)


def erf_gradient(call: Call) -> InputGradients:
    """``2 / sqrt(pi) exp(-x^2)``."""
    return (call.gradients[0] * (2.0 / math.sqrt(math.pi)) * np.exp(-np.square(call.inputs[0])),)


def exp_gradient(call: Call) -> InputGradients:
    """The exponential itself."""
    return (call.gradients[0] * call.outputs[0],)


def log_gradient(call: Call) -> InputGradients:
    """``1 / x``."""
    return (call.gradients[0] / call.inputs[0],)


def sqrt_gradient(call: Call) -> InputGradients:
    """``1 / (2 y)``."""
    return (0.5 * call.gradients[0] / call.outputs[0],)


def log1p_gradient(call: Call) -> InputGradients:
    """``1 / (1 + x)``."""
    return (call.gradients[0] / (1.0 + call.inputs[0]),)


def expm1_gradient(call: Call) -> InputGradients:
    """The exponential."""
    return (call.gradients[0] * (call.outputs[0] + 1.0),)


def sin_gradient(call: Call) -> InputGradients:
    """The cosine."""
    return (call.gradients[0] * np.cos(call.inputs[0]),)


def cos_gradient(call: Call) -> InputGradients:
    """Minus the sine."""
    return (-call.gradients[0] * np.sin(call.inputs[0]),)


def reciprocal_gradient(call: Call) -> InputGradients:
    """``-y^2``."""
    return (-call.gradients[0] * np.square(call.outputs[0]),)


def affine_gradient(call: Call) -> InputGradients:
    """``alpha``."""
    return (call.attributes["alpha"] * call.gradients[0],)


def add_gradient(call: Call) -> InputGradients:
    """The same to both operands, summed where they were broadcast."""
    return [unbroadcast(call.gradients[0], operand.shape) for operand in call.inputs]


def sub_gradient(call: Call) -> InputGradients:
    """The same, negative for the second operand."""
    (a, b), (dy,) = call.inputs, call.gradients
    return unbroadcast(dy, a.shape), -unbroadcast(dy, b.shape) if call.needed[1] else None


def mul_gradient(call: Call) -> InputGradients:
    """Each operand gets the other's values."""
    (a, b), (dy,) = call.inputs, call.gradients
    return (
        unbroadcast(dy * b, a.shape) if call.needed[0] else None,
        unbroadcast(dy * a, b.shape) if call.needed[1] else None,
    )


def div_gradient(call: Call) -> InputGradients:
    """``1 / b`` and ``-y / b``."""
    (a, b), (y,), (dy,) = call.inputs, call.outputs, call.gradients
    share = dy / b
    return (
        unbroadcast(share, a.shape) if call.needed[0] else None,
        -unbroadcast(share * y, b.shape) if call.needed[1] else None,
    )


def minimum_gradient(call: Call) -> InputGradients:
    """To the smaller one; of equals to the first."""
    a, b = call.inputs
    return _chosen(call, (a <= b) ^ _near(a - b, call.band))


def tan_gradient(call: Call) -> InputGradients:
    """``1 + tan(x)^2``."""
    return (call.gradients[0] * (1.0 + np.tan(call.inputs[0]) ** 2),)


def maximum_gradient(call: Call) -> InputGradients:
    """To the larger one; of equals to the first."""
    a, b = call.inputs
    return _chosen(call, (a >= b) ^ _near(a - b, call.band))


def _chosen(call: Call, first: Array) -> InputGradients:
    (a, b), (dy,) = call.inputs, call.gradients
    return unbroadcast(dy * first, a.shape), unbroadcast(dy * ~first, b.shape)


def pow_gradient(call: Call) -> InputGradients:
    """``b a^(b - 1)`` and ``y log(a)``."""
    (a, b), (y,), (dy,) = call.inputs, call.outputs, call.gradients
    return (
        unbroadcast(dy * b * np.power(a, b - 1.0), a.shape) if call.needed[0] else None,
        unbroadcast(dy * y * np.log(a), b.shape) if call.needed[1] else None,
    )


def softmax_gradient(call: Call) -> InputGradients:
    """``y (dy - sum(dy y))``."""
    (y,), (dy,) = call.outputs, call.gradients
    return (y * (dy - (dy * y).sum(axis=call.attributes["axis"], keepdims=True)),)


def log_softmax_gradient(call: Call) -> InputGradients:
    """``dy - softmax sum(dy)``."""
    (y,), (dy,) = call.outputs, call.gradients
    return (dy - np.exp(y) * dy.sum(axis=call.attributes["axis"], keepdims=True),)


GRADIENTS: Gradients = {
    "relu": relu_gradient,
    "leaky_relu": leaky_relu_gradient,
    "clip": clip_gradient,
    "abs": abs_gradient,
    "sigmoid": sigmoid_gradient,
    "tanh": tanh_gradient,
    "softplus": softplus_gradient,
    "erf": erf_gradient,
    "exp": exp_gradient,
    "log": log_gradient,
    "sqrt": sqrt_gradient,
    "log1p": log1p_gradient,
    "expm1": expm1_gradient,
    "sin": sin_gradient,
    "cos": cos_gradient,
    "tan": tan_gradient,
    "reciprocal": reciprocal_gradient,
    "affine": affine_gradient,
    "add": add_gradient,
    "sub": sub_gradient,
    "mul": mul_gradient,
    "div": div_gradient,
    "minimum": minimum_gradient,
    "maximum": maximum_gradient,
    "pow": pow_gradient,
    "softmax": softmax_gradient,
    "log_softmax": log_softmax_gradient,
}
