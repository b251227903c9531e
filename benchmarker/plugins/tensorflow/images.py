"""From an encoded image to pixels, by TensorFlow's own operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.plugins.common.images import middle, scaled_sides

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def decoder() -> Callable[[bytes, int], Array]:
    """Return ``tf.io.decode_image`` with ``tf.image.resize``, bilinear, which averages where it shrinks."""
    import tensorflow as tf

    def decode(content: bytes, size: int) -> Array:
        image = tf.io.decode_image(content, channels=3, expand_animations=False)
        rows, columns = scaled_sides(image.shape[0], image.shape[1], size)
        scaled = tf.image.resize(image, (rows, columns), antialias=True)[middle(rows, columns, size)]
        pixels: Array = tf.transpose(tf.saturate_cast(tf.round(scaled), tf.uint8), (2, 0, 1)).numpy()
        return pixels

    return decode
