"""Windows that slide over images: convolution, pooling, resizing."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class WindowOperators(Vocabulary):
    """Windows that slide over images: convolution, pooling, resizing."""

    @primitive
    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        """Convolution (ONNX ``Conv``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(M, C/group, *kernel)``, ``b`` is ``(M,)``; ``pads``
        holds the begins of all spatial axes, then the ends. Returns ``(N, M, *out)``.
        """
        return self._unsupported("conv")

    @primitive
    def conv_transpose(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        """Transposed convolution (ONNX ``ConvTranspose``).

        ``x`` is ``(N, C, *spatial)``, ``w`` is ``(C, M/group, *kernel)``, ``b`` is ``(M,)``. An axis of
        size ``i`` becomes ``stride * (i - 1) + output_padding + (kernel - 1) * dilation + 1 - pads``.
        """
        return self._unsupported("conv_transpose")

    @primitive
    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        """Maximum over windows (ONNX ``MaxPool``); padding counts as minus infinity."""
        return self._unsupported("max_pool")

    @primitive
    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
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
