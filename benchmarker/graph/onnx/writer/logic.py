"""Comparisons, logic, and the choice between two tensors as ONNX nodes."""

from __future__ import annotations

from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor


class LogicOperators(NodeOperators):
    """Operators that give truth values or take them."""

    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Equal", a, b)

    def less(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Less", a, b)

    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("LessOrEqual", a, b)

    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("And", a, b)

    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Or", a, b)

    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Xor", a, b)

    def logical_not(self, x: Tensor) -> Tensor:
        return self._add("Not", x)

    def is_nan(self, x: Tensor) -> Tensor:
        return self._add("IsNaN", x)

    def is_inf(self, x: Tensor) -> Tensor:
        return self._add("IsInf", x)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Where", condition, a, b)
