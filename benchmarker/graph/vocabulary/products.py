"""Matrix products and recurrent layers."""

from __future__ import annotations

from benchmarker.graph.attributes import Gemm, PlainRecurrent, Recurrent
from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class ProductOperators(Vocabulary):
    """Matrix products and recurrent layers."""

    @primitive
    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        """``alpha * a' @ b' + beta * c`` for matrices (ONNX ``Gemm``); ``c`` broadcasts to the result.

        A fully connected layer is ``gemm(x, weight, bias, trans_b=True)`` with ``weight`` of shape
        ``(out, in)``.
        """
        return self._unsupported("gemm")

    @primitive
    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Matrix products of the last two axes (ONNX ``MatMul``), the axes before them broadcast.

        Both have two axes at least.
        """
        return self._unsupported("matmul")

    @primitive
    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        """One layer of plain recurrent cells (ONNX ``RNN``, zero initial state).

        ``x`` is ``(T, N, I)``, ``w`` ``(D, H, I)``, ``r`` ``(D, H, H)``, ``b`` ``(D, 2H)`` (input then
        recurrent bias). Returns ``y (T, D, N, H)`` and ``y_h (D, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor] = self._unsupported("rnn")
        return unsupported

    @primitive
    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One LSTM layer (ONNX ``LSTM``, zero initial state).

        ``x`` is ``(T, N, I)``, ``w`` ``(D, 4H, I)``, ``r`` ``(D, 4H, H)``, ``b`` ``(D, 8H)`` (input
        then recurrent bias), gate order i, o, f, c; ``D`` is the number of directions, of which the
        second goes back in time. Returns ``y (T, D, N, H)``, ``y_h (D, N, H)`` and ``y_c (D, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor, Tensor] = self._unsupported("lstm")
        return unsupported

    @primitive
    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        """One GRU layer (ONNX ``GRU`` with ``linear_before_reset=1``, zero initial state).

        ``x`` is ``(T, N, I)``, ``w`` ``(D, 3H, I)``, ``r`` ``(D, 3H, H)``, ``b`` ``(D, 6H)`` (input
        then recurrent bias), gate order z, r, h. Returns ``y (T, D, N, H)`` and ``y_h (D, N, H)``.
        """
        unsupported: tuple[Tensor, Tensor] = self._unsupported("gru")
        return unsupported
