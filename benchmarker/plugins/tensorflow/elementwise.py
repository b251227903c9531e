"""Operators on single elements, and the softmax."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


def seeded_generator(tensorflow: Any) -> Any:
    """Return a generator that follows from the seed that TensorFlow was given."""
    drawn = tensorflow.random.uniform((), maxval=2**31 - 1, dtype=tensorflow.int32)
    return tensorflow.random.Generator.from_seed(int(drawn))


class Elementwise(Arranging):
    """Operators on single elements; a tensor's axes stay as they stand."""

    def _each(self, function: Callable[[Any], Any], x: Tensor) -> Tensor:
        return replace(x, value=function(self.value(x)), parameter=False)

    def relu(self, x: Tensor) -> Tensor:
        return self._each(self.tf.nn.relu, x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._each(self.tf.sigmoid, x)

    def tanh(self, x: Tensor) -> Tensor:
        # TensorFlow 2.21 fuses convolution, normalization and tanh without a kernel for it.
        return self._each(self.tf.tanh, self._unfused(x, "FusedBatchNormV3"))

    def _unfused(self, x: Tensor, operation: str) -> Tensor:
        """Return ``x`` so that TensorFlow does not fuse what follows if ``operation`` made it."""
        value = self.value(x)
        # A parameter comes from no operation.
        if not isinstance(value, self.tf.Variable) and value.op.type == operation:
            value = self.tf.ensure_shape(value, value.shape)
        return replace(x, value=value, parameter=False)

    def silu(self, x: Tensor) -> Tensor:
        return self._each(self.tf.nn.silu, x)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        if self.exact == self.tf.float64:
            composed: Tensor = super().gelu(x, approximate=approximate)
            return composed  # tf.nn.gelu has its constants in float32
        return self._each(lambda value: self.tf.nn.gelu(value, approximate == "tanh"), x)

    def exp(self, x: Tensor) -> Tensor:
        return self._each(self.tf.exp, x)

    def log(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.log, x)

    def log1p(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.log1p, x)

    def expm1(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.expm1, x)

    def sin(self, x: Tensor) -> Tensor:
        return self._each(self.tf.sin, x)

    def cos(self, x: Tensor) -> Tensor:
        return self._each(self.tf.cos, x)

    def reciprocal(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.reciprocal, x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._each(self.tf.sqrt, x)

    def abs(self, x: Tensor) -> Tensor:
        return self._each(self.tf.abs, x)

    def erf(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.erf, x)

    def softplus(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.softplus, x)

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        if self.exact == self.tf.float64:  # the kernel has its slope in float32
            return self._each(lambda value: self.tf.where(value > 0.0, value, alpha * value), x)
        # TensorFlow 2.21 fuses convolution, bias, sum and leaky ReLU with the slope 0.2, whatever it is.
        return self._each(lambda value: self.tf.nn.leaky_relu(value, alpha), self._unfused(x, "AddV2"))

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        if (min, max) == (0.0, 6.0):
            return self._each(self.tf.nn.relu6, x)
        # The kernel that tf.clip_by_value had; its gradient is one kernel too, not two selections.
        clip = self.tf.raw_ops.ClipByValue

        def clipped(value: Any) -> Any:
            low, high = (self.tf.constant(bound, value.dtype) for bound in (min, max))
            return clip(t=value, clip_value_min=low, clip_value_max=high)

        return self._each(clipped, x)

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        def scaled(value: Any) -> Any:
            value = value if alpha == 1.0 else value * alpha
            return value if beta == 0.0 else value + beta

        return self._each(scaled, x)

    def tan(self, x: Tensor) -> Tensor:
        return self._each(self.tf.tan, x)

    def sign(self, x: Tensor) -> Tensor:
        return self._each(self.tf.sign, x)

    def floor(self, x: Tensor) -> Tensor:
        return self._each(self.tf.floor, x)

    def ceil(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.ceil, x)

    def round(self, x: Tensor) -> Tensor:
        return self._each(self.tf.math.rint, x)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        kind = self.compute if to == "float32" else self.tf.dtypes.as_dtype(to)
        return self._each(lambda value: self._as(value, kind), x)

    def stop_gradient(self, x: Tensor) -> Tensor:
        return self._each(self.tf.stop_gradient, x)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        if not self.training or self._generator is None or ratio == 0.0:
            return x
        # The same as tf.nn.dropout, of a generator whose state can be told and put back.
        drop, draw = self.tf.nn.experimental.general_dropout, self._generator.uniform
        return self._each(lambda value: drop(value, ratio, draw), x)

    # --- two operands ------------------------------------------------------------------------

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(operator.add, a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(operator.sub, a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(operator.mul, a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(operator.truediv, a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.minimum, a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.maximum, a, b)

    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.pow, a, b)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.truncatediv, a, b)

    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.math.floormod, a, b)

    # --- softmax -----------------------------------------------------------------------------

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        x = self.settled(x)
        (native,) = self.axes(x, (axis,))
        return self._each(lambda value: self.tf.nn.softmax(value, axis=native), x)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        x = self.settled(x)
        (native,) = self.axes(x, (axis,))
        return self._each(lambda value: self.tf.nn.log_softmax(value, axis=native), x)
