"""Xception."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.resnet import LAST_SCALE
from benchmarker.problems.layers.separable import separable
from benchmarker.problems.layers.sizes import same_pads, scaled
from benchmarker.quick_dataclass import dataclass

STEM = (32, 64)
ENTRY = (128, 256, 728)
MIDDLE = 728
EXIT = (728, 1024)
LAST = (1536, 2048)
"""Filters of the flows (Chollet 2016, figure 5)."""


NORMALIZATION = {"epsilon": 1e-3, "momentum": 0.99}
"""Constants of batch normalization in the author's Keras form."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every layer; ``middle_blocks`` is how often the middle flow is
    repeated.
    """

    classes: int = 1000
    image_size: int = 299
    channels: int = 3
    width: float = 1.0
    middle_blocks: int = 8


def normalized(net: Network, name: str, x: Value, filters: int, *, start: float = 1.0) -> Value:
    """Separable convolution and batch normalization."""
    return net.batch_norm(f"{name}.bn", separable(net, name, x, filters), start=start, **NORMALIZATION)


def shrinking(net: Network, name: str, x: Value, filters: tuple[int, int], rectified: bool = True) -> Value:
    """Two separable convolutions and pooling with stride 2, beside a 1x1 convolution with stride 2."""
    shortcut = net.convolution(f"{name}.shortcut.conv", x, filters[1], 1, stride=2, bias=False)
    shortcut = net.batch_norm(f"{name}.shortcut.bn", shortcut, **NORMALIZATION)
    y = normalized(net, f"{name}.sep1", net.relu(x) if rectified else x, filters[0])
    y = normalized(net, f"{name}.sep2", net.relu(y), filters[1], start=LAST_SCALE)
    pads = same_pads(y.shape[2:], 3, 2)
    y = net.max_pool(y, kernel_shape=(3, 3), strides=(2, 2), pads=pads)
    result: Value = net.add(y, shortcut)
    return result


def middle(net: Network, name: str, x: Value, filters: int) -> Value:
    """Three separable convolutions beside the identity."""
    y = x
    for number in (1, 2, 3):
        start = LAST_SCALE if number == 3 else 1.0
        y = normalized(net, f"{name}.sep{number}", net.relu(y), filters, start=start)
    result: Value = net.add(y, x)
    return result


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    for number, (filters, stride) in enumerate(zip(STEM, (2, 1)), start=1):
        x = net.convolution(f"stem{number}.conv", x, scaled(filters, p.width), 3, stride=stride, bias=False)
        x = net.relu(net.batch_norm(f"stem{number}.bn", x, **NORMALIZATION))
    for number, filters in enumerate(ENTRY, start=1):
        both = (scaled(filters, p.width),) * 2
        x = shrinking(net, f"entry{number}", x, both, rectified=number > 1)
    for number in range(1, p.middle_blocks + 1):
        x = middle(net, f"middle{number}", x, scaled(MIDDLE, p.width))
    x = shrinking(net, "exit", x, (scaled(EXIT[0], p.width), scaled(EXIT[1], p.width)))
    for number, filters in enumerate(LAST, start=1):
        x = net.relu(normalized(net, f"last{number}", x, scaled(filters, p.width)))
    x = net.dense("classifier", net.flatten(net.global_average_pool(x)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="xception",
        task="image classification",
        source="Chollet 2016, arXiv 1610.02357, figure 5; padding as in the author's Keras form",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
        published=(Published(22_855_952, 16_714_806_992),),
        reduced={"image_size": 71, "classes": 10, "width": 0.125, "middle_blocks": 1},
        reduced_batch_size=4,
    )
