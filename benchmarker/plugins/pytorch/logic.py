"""Comparisons, logic, and the choice between two tensors, in PyTorch."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators


class LogicOperators(TracedOperators):
    """Operators that give truth values or take them."""

    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.eq(a, b)

    def less(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.lt(a, b)

    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.le(a, b)

    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.logical_and(a, b)

    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.logical_or(a, b)

    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.logical_xor(a, b)

    def logical_not(self, x: Tensor) -> Tensor:
        return self._torch.logical_not(x)

    def is_nan(self, x: Tensor) -> Tensor:
        return self._torch.isnan(x)

    def is_inf(self, x: Tensor) -> Tensor:
        return self._torch.isinf(x)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.where(condition, a, b)
