"""Operators on single elements, and the softmax."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import Tensor


class Elementwise(Arranging):
    """Operators on single elements; a tensor's axes stay as they stand."""

    def _each(self, function: Callable[[Any], Any], x: Tensor) -> Tensor:
        return Tensor(function(self.value(x)), x.form)

    def relu(self, x: Tensor) -> Tensor:
        return self._each(self.jax.nn.relu, x)

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return self._each(lambda value: self.jax.nn.leaky_relu(value, alpha), x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._each(self.jax.nn.sigmoid, x)

    def tanh(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.tanh, x)

    def silu(self, x: Tensor) -> Tensor:
        return self._each(self.jax.nn.silu, x)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        return self._each(lambda value: self.jax.nn.gelu(value, approximate == "tanh"), x)

    def softplus(self, x: Tensor) -> Tensor:
        return self._each(self.jax.nn.softplus, x)

    def erf(self, x: Tensor) -> Tensor:
        return self._each(self.lax.erf, x)

    def exp(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.exp, x)

    def log(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.log, x)

    def log1p(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.log1p, x)

    def expm1(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.expm1, x)

    def sin(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.sin, x)

    def cos(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.cos, x)

    def reciprocal(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.reciprocal, x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.sqrt, x)

    def abs(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.abs, x)

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        # jnp.clip lets half of the gradient through at a bound.
        def clipped(value: Any) -> Any:
            low, high = (self.jnp.asarray(bound, value.dtype) for bound in (min, max))
            return self.lax.clamp(low, value, high)

        return self._each(clipped, x)

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        def scaled(value: Any) -> Any:
            value = value if alpha == 1.0 else value * alpha
            return value if beta == 0.0 else value + beta

        return self._each(scaled, x)

    def tan(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.tan, x)

    def sign(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.sign, x)

    def floor(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.floor, x)

    def ceil(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.ceil, x)

    def round(self, x: Tensor) -> Tensor:
        return self._each(self.jnp.rint, x)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        kind = {"float32": self.compute, "int64": "int32", "bool": "bool"}[to]
        return self._each(lambda value: value.astype(kind), x)

    def stop_gradient(self, x: Tensor) -> Tensor:
        return self._each(self.lax.stop_gradient, x)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        if self._key is None or ratio == 0.0:
            return x

        def dropped(value: Any) -> Any:
            kept = self.jax.random.bernoulli(self.next_key(), 1.0 - ratio, value.shape)
            return self.jnp.where(kept, value / (1.0 - ratio), 0.0)

        return self._each(dropped, x)

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
        return self.pairwise(self.jnp.minimum, a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.maximum, a, b)

    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.power, a, b)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(lambda *both: self.lax.div(*self.jnp.broadcast_arrays(*both)), a, b)

    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.mod, a, b)

    # --- softmax -----------------------------------------------------------------------------

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._each(lambda value: self.jax.nn.softmax(value, axis=x.place(axis)), x)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._each(lambda value: self.jax.nn.log_softmax(value, axis=x.place(axis)), x)

    def causal_mask(self, x: Tensor) -> Tensor:
        value = self.plain(x)
        seen = self.jnp.tril(self.jnp.ones(x.shape[-2:], bool))
        return Tensor(self.jnp.where(seen, value, -self.jnp.inf))
