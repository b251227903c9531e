"""Operators on single elements, the softmax and normalization in Paddle."""

from __future__ import annotations

import math

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.paddle.binding import PaddleFunctions

SAME = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "minimum": "minimum",
    "maximum": "maximum",
    "pow": "pow",
    "exp": "exp",
    "log": "log",
    "log1p": "log1p",
    "expm1": "expm1",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "reciprocal": "reciprocal",
    "sqrt": "sqrt",
    "abs": "abs",
    "erf": "erf",
    "relu": ".relu",
    "sigmoid": ".sigmoid",
    "tanh": "tanh",
    "silu": ".silu",
    "softplus": ".softplus",
    "sign": "sign",
    "floor": "floor",
    "ceil": "ceil",
    "mod": "remainder",
    "equal": "equal",
    "less": "less_than",
    "less_or_equal": "less_equal",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "logical_not": "logical_not",
    "is_nan": "isnan",
    "is_inf": "isinf",
    "where": "where",
}
_MAX_EPSILON = 1e-3
"""The largest epsilon of Paddle's layer normalization."""


class ElementwiseOperators(PaddleFunctions):
    """Activations, casts, dropout, and what looks at neighbours only to normalize."""

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        return self._paddle.scale(x, alpha, beta)

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return self._functional.leaky_relu(x, alpha)

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        return self._paddle.clip(x, min, max)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        return self._functional.gelu(x, approximate == "tanh")

    def huber(self, x: Tensor, *, delta: float = 1.0) -> Tensor:
        return self._functional.smooth_l1_loss(x, self._paddle.zeros_like(x), "none", delta)

    def round(self, x: Tensor) -> Tensor:
        # Paddle's own goes away from 0 in the middle.
        nearest = self._paddle.round(x)
        middle = self._paddle.equal(self._paddle.abs(x - self._paddle.trunc(x)), 0.5)
        return self._paddle.where(middle, 2.0 * self._paddle.round(0.5 * x), nearest)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        # Paddle's own quotient is rounded downwards.
        sizes = self._paddle.floor_divide(self._paddle.abs(a), self._paddle.abs(b))
        return sizes * self._paddle.sign(a) * self._paddle.sign(b)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        # Paddle goes back through it.
        return self._paddle.cast(x.detach(), to)

    def stop_gradient(self, x: Tensor) -> Tensor:
        return x.detach()

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return self._functional.dropout(x, ratio) if self._drops and ratio > 0.0 else x

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._functional.softmax(x, axis)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._functional.log_softmax(x, axis)

    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        return self._functional.batch_norm(x, mean, var, scale, b, self.training, momentum, epsilon)

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        shape = scale.shape
        if len(shape) > 1:
            scale, b = self._paddle.flatten(scale), self._paddle.flatten(b)
        if epsilon > _MAX_EPSILON:
            # Paddle takes none above: what is scaled down with its square has the same result.
            x = self._paddle.scale(x, math.sqrt(_MAX_EPSILON / epsilon))
        # It takes no first axis among those that it normalizes.
        whole = len(shape) == len(x.shape)
        x = self._paddle.unsqueeze(x, 0) if whole else x
        y = self._functional.layer_norm(x, shape, scale, b, min(epsilon, _MAX_EPSILON))
        return self._paddle.squeeze(y, 0) if whole else y

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        return self._functional.group_norm(x, num_groups, epsilon, scale, b)
