"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import Tensor


class Logic(Arranging):
    """Operators that give truth values or take them; a tensor's axes stay as they stand."""

    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.equal, a, b)

    def less(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.less, a, b)

    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.less_equal, a, b)

    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.logical_and, a, b)

    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.logical_or, a, b)

    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.jnp.logical_xor, a, b)

    def logical_not(self, x: Tensor) -> Tensor:
        return Tensor(self.jnp.logical_not(self.value(x)), x.form)

    def is_nan(self, x: Tensor) -> Tensor:
        return Tensor(self.jnp.isnan(self.value(x)), x.form)

    def is_inf(self, x: Tensor) -> Tensor:
        return Tensor(self.jnp.isinf(self.value(x)), x.form)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        (chosen, left, right), form = self.together(condition, a, b)
        return Tensor(self.jnp.where(chosen, left, right), form)
