"""Reductions, and the choice of elements."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class ReductionOperators(Vocabulary):
    """Reductions, and the choice of elements."""

    @primitive
    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Mean over ``axes`` (ONNX ``ReduceMean``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_mean")

    @primitive
    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Sum over ``axes`` (ONNX ``ReduceSum``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_sum")

    @primitive
    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        """Maximum over ``axes`` (ONNX ``ReduceMax``); over all of them, to a scalar, if there are none."""
        return self._unsupported("reduce_max")

    @primitive
    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        """The ``k`` largest values along the last axis, largest first (the first result of ONNX ``TopK``)."""
        return self._unsupported("top_k")

    @primitive
    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        """Take whole slices of ``x`` along ``axis`` (ONNX ``Gather``); with axis 0 a table's rows.

        ``indices`` is int64 of any shape, each at least 0 and below the axis's size; its shape takes the
        axis's place.
        """
        return self._unsupported("gather")

    @primitive
    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        """Take the element at each index along ``axis`` (ONNX ``GatherElements``).

        ``indices`` is int64 with the shape of ``x`` but for that axis.
        """
        return self._unsupported("gather_elements")
