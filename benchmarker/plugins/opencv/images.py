"""From an encoded image to pixels, by OpenCV's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.common.images import middle, scaled_sides

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def decoder() -> Callable[[bytes, int], Array]:
    """Return ``cv2.imdecode`` with ``cv2.resize``: areas where it shrinks, else bilinear."""
    import cv2

    def decode(content: bytes, size: int) -> Array:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR_RGB)
        rows, columns = scaled_sides(image.shape[0], image.shape[1], size)
        interpolation = cv2.INTER_AREA if size < min(image.shape[:2]) else cv2.INTER_LINEAR
        scaled = cv2.resize(image, (columns, rows), interpolation=interpolation)
        pixels: Array = scaled[middle(rows, columns, size)].transpose(2, 0, 1)
        return pixels

    return decode
