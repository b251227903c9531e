"""Convolution and its transpose in Chainer."""

from __future__ import annotations

import functools
from typing import Any

from benchmarker.graph.windows import TransposedWindow, Window
from benchmarker.plugins.chainer.binding_site import Native, Site
from benchmarker.plugins.chainer.shapes import cut, spatial_padding


def conv(site: Site, *, window: Window) -> Native:
    """Chainer pads both ends of an axis alike; other pads go before."""
    from chainer import functions

    convolve = functions.convolution_2d if window.rank == 2 else functions.convolution_nd
    settings = {"stride": window.strides, "dilate": window.dilations, "groups": window.group}
    if window.is_symmetric:
        return functools.partial(convolve, pad=window.begins, **settings)
    pad = spatial_padding(window.pairs, 0.0)

    def padded_convolution(x: Any, w: Any, b: Any = None) -> Any:
        return convolve(pad(x), w, b, **settings)

    return padded_convolution


def conv_transpose(site: Site, *, window: TransposedWindow) -> Native:
    """The output's size carries the output padding; what is cropped at one end only is cut off after."""
    from chainer import functions

    x, w, begins = site.shape(0), site.shape(1), window.begins
    spatial = window.output_sizes(x, w)
    deconvolve = _deconvolution_2d() if window.rank == 2 else functions.deconvolution_nd
    settings = {"stride": window.strides, "dilate": window.dilations, "groups": window.group}
    reachable = all(extra < stride for extra, stride in zip(window.output_padding, window.strides))
    if window.is_symmetric and reachable:
        return functools.partial(deconvolve, pad=begins, outsize=spatial, **settings)
    covered = window.reached_sizes(x, w)
    extended = tuple(max(c, b + n) for c, b, n in zip(covered, begins, spatial))
    # Beyond what a stride away from the kernel covers, Chainer has nothing: zeros come after.
    outsize = tuple(min(n, c + s - 1) for n, c, s in zip(extended, covered, window.strides))
    rest = [(0, n - o) for n, o in zip(extended, outsize)]
    pad = spatial_padding(rest, 0.0) if any(map(any, rest)) else None
    crop = cut(
        (*x[:1], w[1] * window.group, *extended),
        tuple(range(2, len(x))),
        begins,
        tuple(b + n for b, n in zip(begins, spatial)),
    )

    def cropped_deconvolution(x: Any, w: Any, b: Any = None) -> Any:
        y = deconvolve(x, w, None, outsize=outsize, **settings)
        y = crop(y if pad is None else pad(y))
        return y if b is None else functions.bias(y, b, axis=1)

    return cropped_deconvolution


@functools.cache
def _deconvolution_2d() -> Native:
    """Return ``functions.deconvolution_2d`` with its gradient cured, made once because it needs Chainer.

    Chainer's own takes variables for shapes where the weight needs a gradient and the input does not.
    """
    from chainer.functions.connection.deconvolution_2d import Deconvolution2DFunction

    class Deconvolution2D(Deconvolution2DFunction):  # type: ignore[misc]
        def _set_cover_all(self, x: Any, w: Any) -> None:
            super()._set_cover_all(getattr(x, "shape", x), getattr(w, "shape", w))

    def deconvolution_2d(x: Any, w: Any, b: Any = None, **settings: Any) -> Any:
        return Deconvolution2D(**settings).apply((x, w) if b is None else (x, w, b))[0]

    return deconvolution_2d
