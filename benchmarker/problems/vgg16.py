"""VGG-16."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers import vgg
from benchmarker.layers.sizes import scaled
from benchmarker.problem import Problem, Published

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""3x3 convolutions and their filters before each pooling (Simonyan & Zisserman 2014, table 1, column D)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every convolution; ``dropout`` is the ratio after the first two
    fully connected layers.
    """

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    hidden: int = 4096
    dropout: float = 0.5


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = vgg.features(net, x, [(n, scaled(filters, p.width)) for n, filters in GROUPS])
    x = vgg.classifier(net, x, p.hidden, p.classes, p.dropout)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="vgg16",
        task="image classification",
        source="Simonyan & Zisserman 2014, arXiv 1409.1556, table 1, column D",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(Published(138_357_544, 30_940_528_640),),
        reduced={"image_size": 32, "classes": 10, "width": 0.125, "hidden": 32},
        reduced_batch_size=2,
    )
