"""Models of ``keras.applications`` without pretrained weights, given ours."""

from __future__ import annotations

import os
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras  # noqa: E402
import numpy as np  # noqa: E402

from tests.in_framework.field_libraries.exchange import Weights, serve  # noqa: E402


def images(batch: dict[str, Any]) -> Any:
    """Return the images with the channels last."""
    return batch["image"].transpose(0, 2, 3, 1)


def kernel(weight: Any) -> Any:
    """Return a convolution's weight as Keras has it: height, width, in, out."""
    return weight.transpose(2, 3, 1, 0)


def vgg(application: Any, groups: list[int]) -> Any:
    """Return what runs a VGG network."""

    def model(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
        size = values["image_size"]
        network = application(
            weights=None, input_shape=(size, size, 3), classes=values["classes"], classifier_activation=None
        )
        for group, count in enumerate(groups, start=1):
            for i in range(1, count + 1):
                ours = f"conv{group}_{i}"
                network.get_layer(f"block{group}_conv{i}").set_weights(
                    [kernel(weights(f"{ours}.weight")), weights(f"{ours}.bias")]
                )
        first = weights("fc6.weight")
        # Ours flattens channels first, Keras channels last.
        side = round((first.shape[1] / 512) ** 0.5)
        first = first.reshape(-1, 512, side, side).transpose(0, 2, 3, 1).reshape(len(first), -1)
        network.get_layer("fc1").set_weights([first.T, weights("fc6.bias")])
        network.get_layer("fc2").set_weights([weights("fc7.weight").T, weights("fc7.bias")])
        network.get_layer("predictions").set_weights([weights("fc8.weight").T, weights("fc8.bias")])
        return network(images(batch), training=False)

    return model


def xception(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
    """Every layer in the order in which ours were made, but for the shortcuts."""
    size = values["image_size"]
    network = keras.applications.Xception(
        weights=None, input_shape=(size, size, 3), classes=values["classes"], classifier_activation=None
    )

    def norm(layer: str, ours: str) -> None:
        parts = ("weight", "bias", "running_mean", "running_var")
        network.get_layer(layer).set_weights([weights(f"{ours}.{part}") for part in parts])

    def separable(layer: str, ours: str) -> None:
        depthwise = weights(f"{ours}.depthwise.weight").transpose(2, 3, 0, 1)
        network.get_layer(layer).set_weights([depthwise, kernel(weights(f"{ours}.pointwise.weight"))])
        norm(f"{layer}_bn", f"{ours}.bn")

    for i in (1, 2):
        network.get_layer(f"block1_conv{i}").set_weights([kernel(weights(f"stem{i}.conv.weight"))])
        norm(f"block1_conv{i}_bn", f"stem{i}.bn")
    shortcuts = [
        layer for layer in network.layers if type(layer).__name__ == "Conv2D" and "block" not in layer.name
    ]
    norms = [
        layer
        for layer in network.layers
        if type(layer).__name__ == "BatchNormalization" and "block" not in layer.name
    ]
    for convolution, normalization, ours in zip(shortcuts, norms, values["shortcuts"]):
        convolution.set_weights([kernel(weights(f"{ours}.shortcut.conv.weight"))])
        norm(normalization.name, f"{ours}.shortcut.bn")
    for layer, ours in values["separable"].items():
        separable(layer, ours)
    network.get_layer("predictions").set_weights([weights("classifier.weight").T, weights("classifier.bias")])
    return network(images(batch), training=False)


np.set_printoptions(precision=3)
serve(
    {
        "vgg16": vgg(keras.applications.VGG16, [2, 2, 3, 3, 3]),
        "vgg19": vgg(keras.applications.VGG19, [2, 2, 4, 4, 4]),
        "xception": xception,
    }
)
