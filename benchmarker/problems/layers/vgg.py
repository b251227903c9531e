"""Networks of 3x3 convolutions (Simonyan & Zisserman 2014, arXiv 1409.1556)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

FILTERS = (64, 128, 256, 512, 512)
"""Of the 3x3 convolutions before each pooling (table 1)."""
REDUCED = {"image_size": 32, "classes": 10, "width": 0.125, "hidden": 32}
"""A small version of the networks for ImageNet."""


@dataclass(frozen=True)
class ImageNet:
    """Sizes of a network for ImageNet.

    ``width`` multiplies the filters of every convolution; ``dropout`` is the ratio after the first two
    fully connected layers.
    """

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    hidden: int = 4096
    dropout: float = 0.5


def group(net: Network, number: int, x: Value, convolutions: int, filters: int) -> Value:
    """3x3 convolutions of one size, each with a rectifier."""
    for layer in range(1, convolutions + 1):
        x = net.relu(net.convolution(f"conv{number}_{layer}", x, filters, 3, pad=1))
    return x


def features(net: Network, x: Value, groups: Sequence[tuple[int, int]]) -> Value:
    """Groups of ``(convolutions, filters)``, each followed by 2x2 pooling."""
    for number, (convolutions, filters) in enumerate(groups, start=1):
        x = net.pool(group(net, number, x, convolutions, filters), 2)
    return x


def classifier(net: Network, x: Value, hidden: int, classes: int, dropout: float) -> Value:
    """Three fully connected layers, dropout after the first two."""
    x = net.flatten(x)
    for name in ("fc6", "fc7"):
        x = net.dropout(net.relu(net.dense(name, x, hidden)), ratio=dropout)
    return net.dense("fc8", x, classes)


def classify(net: Network, p: ImageNet, groups: Sequence[tuple[int, int]]) -> None:
    """Add the network with these groups of convolutions, its labels and its loss."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = features(net, x, [(count, scaled(filters, p.width)) for count, filters in groups])
    x = classifier(net, x, p.hidden, p.classes, p.dropout)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
