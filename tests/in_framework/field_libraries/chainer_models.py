"""Chainer's own vision links, given our weights."""

from __future__ import annotations

import warnings
from typing import Any

warnings.simplefilter("ignore")

import chainer  # noqa: E402
import chainer.links as L  # noqa: E402, N812

from tests.in_framework.field_libraries.exchange import Weights, serve  # noqa: E402

# To draw 138 million weights, all of which ours replace, would take most of the time.
chainer.initializers.Normal.__call__ = lambda self, array: array.fill(0)


def vgg(layers: Any, groups: list[int]) -> Any:
    """Return what runs a VGG network."""

    def model(values: dict[str, Any], weights: Weights, batch: dict[str, Any]) -> Any:
        network = layers(pretrained_model=None)
        names = [
            f"conv{group}_{i}" for group, count in enumerate(groups, start=1) for i in range(1, count + 1)
        ]
        for name in [*names, "fc6", "fc7", "fc8"]:
            link = network[name]
            link.W.array = weights(f"{name}.weight")
            link.b.array = weights(f"{name}.bias")
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return network(batch["image"], layers=["fc8"])["fc8"].array

    return model


serve({"vgg16": vgg(L.VGG16Layers, [2, 2, 3, 3, 3]), "vgg19": vgg(L.VGG19Layers, [2, 2, 4, 4, 4])})
