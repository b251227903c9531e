"""Export small models by Keras, and keep what it computes of them beside each.

Run with an interpreter that has keras, a backend, onnx and what that backend's export needs (``tf2onnx`` for
TensorFlow, ``onnxscript`` for PyTorch): ``KERAS_BACKEND=tensorflow python make_keras.py``; the files are kept.
"""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np

FOLDER = Path(__file__).parent


def convolutional() -> keras.Model:
    """Return convolutions of images with the channels last, batch normalization, pooling, a classifier."""
    layers = keras.layers
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.SeparableConv2D(6, 3, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def dense() -> keras.Model:
    """Return fully connected layers with the usual activations."""
    layers = keras.layers
    x = inputs = keras.Input((12,))
    x = layers.Dense(16, activation="silu")(x)
    x = layers.Dropout(0.3)(layers.Dense(8, activation="elu")(x))
    return keras.Model(inputs, layers.Dense(3, activation="sigmoid")(x))


def main() -> None:
    """Export all."""
    keras.utils.set_random_seed(0)
    generator = np.random.default_rng(1)
    for name, model in (("convolutional", convolutional()), ("dense", dense())):
        sample = generator.normal(size=(3, *model.input_shape[1:])).astype(np.float32)
        expected = keras.ops.convert_to_numpy(model(sample, training=False))
        file = FOLDER / f"keras_{name}_{keras.backend.backend()}"
        model.export(str(file.with_suffix(".onnx")), format="onnx", verbose=False)
        np.savez(file.with_suffix(".npz"), x=sample, y=expected)


if __name__ == "__main__":
    main()
