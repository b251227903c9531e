"""Windows that slide over images: convolution, pooling, resizing."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive
from benchmarker.graph.windows import AveragePooling, MaxPooling, TransposedWindow, Window


class WindowOperators(Vocabulary):
    """Windows that slide over images: convolution, pooling, resizing."""

    @primitive
    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        """Convolution (ONNX ``Conv``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(M, C/group, *kernel)``, ``b`` is ``(M,)``. Returns
        ``(N, M, *out)``.
        """
        return self._unsupported("conv")

    @primitive
    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        """Transposed convolution (ONNX ``ConvTranspose``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(C, M/group, *kernel)``, ``b`` is ``(M,)``. An axis of
        size ``i`` becomes ``stride * (i - 1) + output_padding + (kernel - 1) * dilation + 1 - pads``.
        """
        return self._unsupported("conv_transpose")

    @primitive
    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        """Maximum over windows (ONNX ``MaxPool``); padding counts as minus infinity."""
        return self._unsupported("max_pool")

    @primitive
    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        """Mean over windows (ONNX ``AveragePool``); padding is counted only if asked for."""
        return self._unsupported("average_pool")

    @primitive
    def global_average_pool(self, x: Tensor) -> Tensor:
        """Mean over all spatial axes, which stay with size 1 (ONNX ``GlobalAveragePool``)."""
        return self._unsupported("global_average_pool")

    @primitive
    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        """Resize the spatial axes of ``(N, C, H, W)`` to ``sizes`` (ONNX ``Resize``).

        ``nearest`` repeats each element (``asymmetric``, ``floor``; each size a multiple of the old one);
        ``linear`` interpolates between the centres of pixels (``half_pixel``, no antialiasing, the
        border repeated outside).
        """
        return self._unsupported("resize")
