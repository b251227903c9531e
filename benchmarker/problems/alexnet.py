"""AlexNet with one column."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

CONVOLUTIONS = (
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
)
"""Filters, kernel, stride and padding of each convolution, and whether 3x3 pooling with stride 2 follows."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every convolution; ``dropout`` is the ratio before the first two
    fully connected layers.
    """

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    hidden: int = 4096
    dropout: float = 0.5


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    for number, (filters, kernel, stride, pad, pooled) in enumerate(CONVOLUTIONS, start=1):
        filters = scaled(filters, p.width)
        x = net.relu(net.convolution(f"conv{number}", x, filters, kernel, stride=stride, pad=pad))
        if pooled:
            x = net.pool(x, 3, stride=2)
    x = net.flatten(x)
    for name in ("fc6", "fc7"):
        x = net.relu(net.dense(name, net.dropout(x, ratio=p.dropout), p.hidden))
    x = net.dense("fc8", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="alexnet",
        task="image classification",
        source="Krizhevsky 2014, arXiv 1404.5997, in torchvision's form: one column, no groups, no local "
        "response normalization",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=16,
        published=(Published(61_100_840, 1_428_376_960),),
        reduced={"image_size": 127, "classes": 10, "width": 0.125, "hidden": 32},
        reduced_batch_size=2,
    )
