"""Reductions, and the choice of elements."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive, stopping


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

    @stopping
    @primitive
    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        """Where the ``k`` largest values along the last axis are (the second result of ONNX ``TopK``).

        int64, the place of the largest first; of equal values the first comes first.
        """
        return self._unsupported("top_k_indices")

    @stopping
    @primitive
    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        """Where the largest value along ``axis`` is, int64; the first one of equals (ONNX ``ArgMax``)."""
        return self._unsupported("arg_max")

    @primitive
    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        """Sums of all elements up to each along ``axis`` (ONNX ``CumSum``).

        Without itself if ``exclusive``; from the end if ``reverse``.
        """
        return self._unsupported("cum_sum")

    @primitive
    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        """``x`` with ``updates`` at ``indices`` (ONNX ``ScatterND``).

        ``indices`` is int64 ``(..., k)``, each row the place of an element or slice of ``x``, no place
        twice; ``updates`` has the shape ``indices.shape[:-1] + x.shape[k:]``.
        """
        return self._unsupported("scatter_nd")

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
