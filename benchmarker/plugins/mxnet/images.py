"""From an encoded image to pixels, by MXNet's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.plugins.common.images import middle, scaled_sides

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_BILINEAR, _AREA = 1, 3
"""OpenCV's interpolations; the latter averages where it shrinks."""


def decoder() -> Callable[[bytes, int], Array]:
    """Return ``mxnet.image.imdecode`` with ``imresize``, which are OpenCV's: areas where it shrinks, else bilinear."""
    import mxnet

    def decode(content: bytes, size: int) -> Array:
        image = mxnet.image.imdecode(content)
        rows, columns = scaled_sides(image.shape[0], image.shape[1], size)
        interpolation = _AREA if size < min(image.shape[:2]) else _BILINEAR
        scaled = mxnet.image.imresize(image, columns, rows, interp=interpolation).asnumpy()
        pixels: Array = scaled[middle(rows, columns, size)].transpose(2, 0, 1)
        return pixels

    return decode
