"""From an encoded image to pixels: what Keras over TensorFlow decodes its data sets with, and its own scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.plugins.common.images import middle, scaled_sides

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def decoder() -> Callable[[bytes, int], Array]:
    """Return ``tf.io.decode_image`` with ``keras.ops.image.resize``, bilinear, which averages where it shrinks."""
    import keras
    import tensorflow as tf

    def decode(content: bytes, size: int) -> Array:
        image = tf.io.decode_image(content, channels=3, expand_animations=False)
        rows, columns = scaled_sides(image.shape[0], image.shape[1], size)
        scaled = keras.ops.image.resize(
            keras.ops.cast(image, "float32"), (rows, columns), antialias=True, data_format="channels_last"
        )[middle(rows, columns, size)]
        rounded = keras.ops.cast(keras.ops.clip(keras.ops.round(scaled), 0, 255), "uint8")
        pixels: Array = keras.ops.convert_to_numpy(keras.ops.transpose(rounded, (2, 0, 1)))
        return pixels

    return decode
