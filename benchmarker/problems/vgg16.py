"""VGG-16."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.problem import Problem

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""3x3 convolutions and their filters before each pooling (Simonyan & Zisserman 2014, table 1, column D)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``dropout`` is the ratio after the first two fully connected layers."""

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    hidden: int = 4096
    dropout: float = 0.5


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    for group, (convolutions, filters) in enumerate(GROUPS, start=1):
        for layer in range(1, convolutions + 1):
            x = net.relu(net.convolution(f"conv{group}_{layer}", x, filters, 3, pad=1))
        x = net.pool(x, 2)
    x = net.flatten(x)
    for name in ("fc6", "fc7"):
        x = net.dropout(net.relu(net.dense(name, x, p.hidden)), ratio=p.dropout)
    x = net.dense("fc8", x, p.classes)
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
    )
