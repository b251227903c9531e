"""SSD with 300x300 pixels on VGG-16."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Whole
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers import ssd, vgg
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""VGG-16's convolutions and their filters (Simonyan & Zisserman 2014, table 1, column D)."""
FC = 1024
"""Filters of the convolutions that VGG-16's fully connected layers became."""
EXTRAS = ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
"""Filters of the 1x1 and of the 3x3 convolution, stride and padding of the latter (Liu et al. 2015, figure 2)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``classes`` include the background, ``width`` multiplies the filters of every layer but the heads,
    ``positives`` is how many boxes of an image are matched on average.
    """

    classes: Annotated[int, Whole(2, MAX_COUNT)] = 21
    image_size: int = 300
    channels: int = 3
    width: float = 1.0
    positives: int = 16


def maps(net: Network, x: Value, width: float) -> list[Value]:
    """Return the six maps that boxes are predicted from."""
    found = []
    for number, (convolutions, filters) in enumerate(GROUPS, start=1):
        x = vgg.group(net, number, x, convolutions, scaled(filters, width))
        if number == 4:
            found.append(ssd.unit_length(net, "conv4", x))
        x = net.pool(x, 2, ceil_mode=True) if number < 5 else net.pool(x, 3, stride=1, pad=1)
    x = net.relu(net.convolution("fc6", x, scaled(FC, width), 3, pad=6, dilation=6))
    x = net.relu(net.convolution("fc7", x, scaled(FC, width), 1))
    found.append(x)
    for number, (squeezed, filters, stride, pad) in enumerate(EXTRAS, start=8):
        x = net.relu(net.convolution(f"conv{number}_1", x, scaled(squeezed, width), 1))
        x = net.relu(net.convolution(f"conv{number}_2", x, scaled(filters, width), 3, stride=stride, pad=pad))
        found.append(x)
    return found


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns each default box's logits and offsets."""
    features = maps(net, net.input("image", (p.channels, p.image_size, p.image_size)), p.width)
    ssd.detect(net, features, p.classes, p.positives)


def benchmarker_problem() -> Problem:
    return Problem(
        name="ssd300",
        task="object detection",
        source="Liu et al. 2015, arXiv 1512.02325, figure 2, equations 1 to 3",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=1e-3, momentum=0.9, weight_decay=5e-4),
        batch_size=4,
        published=(
            Published(26_285_486, 62_747_075_584),
            Published(34_305_206, 68_720_702_464, {"classes": 81}),
            Published(35_641_826, 69_716_306_944, {"classes": 91}),
        ),
        reduced={"classes": 4, "image_size": 260, "width": 0.03125},
        reduced_batch_size=2,
    )
