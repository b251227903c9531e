"""Truth values: comparisons, logic, and the choice that they make."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive, stopping


class LogicOperators(Vocabulary):
    """Comparisons of two tensors, logic of truth values, and choice between tensors."""

    @stopping
    @primitive
    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        """``a == b`` with broadcasting."""
        return self._unsupported("equal")

    @stopping
    @primitive
    def less(self, a: Tensor, b: Tensor) -> Tensor:
        """``a < b`` with broadcasting."""
        return self._unsupported("less")

    @stopping
    @primitive
    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        """``a <= b`` with broadcasting."""
        return self._unsupported("less_or_equal")

    @stopping
    @primitive
    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        """Whether both are true (ONNX ``And``), with broadcasting."""
        return self._unsupported("logical_and")

    @stopping
    @primitive
    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        """Whether one of both is true (ONNX ``Or``), with broadcasting."""
        return self._unsupported("logical_or")

    @stopping
    @primitive
    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        """Whether exactly one of both is true (ONNX ``Xor``), with broadcasting."""
        return self._unsupported("logical_xor")

    @stopping
    @primitive
    def logical_not(self, x: Tensor) -> Tensor:
        """Whether it is false (ONNX ``Not``)."""
        return self._unsupported("logical_not")

    @stopping
    @primitive
    def is_nan(self, x: Tensor) -> Tensor:
        """Whether it is no number (ONNX ``IsNaN``)."""
        return self._unsupported("is_nan")

    @stopping
    @primitive
    def is_inf(self, x: Tensor) -> Tensor:
        """Whether it is infinite, of either sign (ONNX ``IsInf``)."""
        return self._unsupported("is_inf")

    @primitive
    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """``a`` where the condition is true, else ``b`` (ONNX ``Where``), with broadcasting.

        Nothing flows back to what is not chosen.
        """
        return self._unsupported("where")
