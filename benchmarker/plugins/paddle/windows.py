"""Convolution, pooling and resizing in Paddle."""

from __future__ import annotations

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs, TransposedWindow, Window
from benchmarker.plugins.paddle.binding import PaddleFunctions, flat


class WindowOperators(PaddleFunctions):
    """Windows over ``(N, C, *spatial)``."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        function = self._by_rank("conv{}d", window.rank)
        pads: list[int] = list(window.begins)
        if not window.is_symmetric:
            x, pads = self._padded(x, window.pairs, 0.0), [0] * window.rank
        return function(x, w, b, window.strides, pads, window.dilations, window.group)

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        function = self._by_rank("conv{}d_transpose", window.rank)
        padding = tuple(map(min, window.pairs))
        # Dilations come before groups here, and after them in PyTorch.
        y = function(
            x,
            w,
            b,
            stride=window.strides,
            padding=padding,
            output_padding=window.output_padding,
            dilation=window.dilations,
            groups=window.group,
        )
        if window.is_symmetric:
            return y
        pairs = zip(window.pairs, padding)
        cut = tuple(slice(begin - pad or None, pad - end or None) for (begin, end), pad in pairs)
        return y[(slice(None), slice(None), *cut)]

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        function = self._by_rank("max_pool{}d", window.rank)
        # Paddle's own ceil_mode keeps a last window that starts in the padding.
        pairs = window.covering_pairs(x.shape)
        if any(max(pair) >= size for pair, size in zip(pairs, window.kernel_shape)):
            x, pairs = self._padded(x, pairs, float("-inf")), [(0, 0)] * window.rank
        return function(x, window.kernel_shape, window.strides, flat(pairs))

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        function = self._by_rank("avg_pool{}d", window.rank)
        pairs = window.pairs
        if window.counts_all and window.is_padded:
            # Paddle counts no pads that differ between the ends of an axis.
            x, pairs = self._padded(x, pairs, 0.0), [(0, 0)] * window.rank
        return function(x, window.kernel_shape, window.strides, flat(pairs), exclusive=True)

    def global_average_pool(self, x: Tensor) -> Tensor:
        rank = len(x.shape) - 2
        return self._by_rank("adaptive_avg_pool{}d", rank)(x, (1,) * rank)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        # Paddle's 'nearest' is asymmetric with floor, its 'bilinear' half_pixel.
        modes = {"nearest": "nearest", "linear": "bilinear"}
        if mode not in modes:
            raise UnsupportedError(f"resize knows the modes {', '.join(modes)}, not '{mode}'")
        return self._functional.interpolate(x, list(sizes), mode=modes[mode])

    def _padded(self, x: Tensor, pairs: Pairs, value: float) -> Tensor:
        return self._functional.pad(x, [0, 0, 0, 0, *flat(pairs)], value=value)
