"""MobileNetV2."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.resnet import LAST_SCALE
from benchmarker.problems.layers.separable import depthwise
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, repetitions and stride of the first (Sandler et al. 2018, table 2)."""
EPSILON = 1e-3
"""Of the batch normalizations, as in the authors' program. Most scales stand before a depthwise convolution
that is normalized itself, so that nothing but this and the bound of ReLU6 gives them a gradient."""
STEM = 32
LAST = 1280
"""Filters of the first and of the last convolution (table 2)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every layer, ``repeats`` bounds the repetitions of a block and
    ``dropout`` is the ratio before the classifier.
    """

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    repeats: int = 4
    dropout: float = 0.2


def normalized(net: Network, name: str, x: Value) -> Value:
    """Batch normalization and ReLU6."""
    result: Value = net.clip(net.batch_norm(name, x, epsilon=EPSILON), min=0.0, max=6.0)
    return result


def inverted_residual(net: Network, name: str, x: Value, expansion: int, filters: int, stride: int) -> Value:
    """Expand 1x1, filter each channel 3x3, project 1x1 without a rectifier (figure 4d)."""
    y = x
    if expansion != 1:
        y = net.convolution(f"{name}.expand", x, x.shape[1] * expansion, 1, bias=False)
        y = normalized(net, f"{name}.bn1", y)
    y = normalized(net, f"{name}.bn2", depthwise(net, f"{name}.depthwise", y, stride=stride))
    y = net.convolution(f"{name}.project", y, filters, 1, bias=False)
    if stride != 1 or x.shape[1] != filters:
        return net.batch_norm(f"{name}.bn3", y, epsilon=EPSILON)
    result: Value = net.add(net.batch_norm(f"{name}.bn3", y, epsilon=EPSILON, start=LAST_SCALE), x)
    return result


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.convolution("stem.conv", x, scaled(STEM, p.width), 3, stride=2, pad=1, bias=False)
    x = normalized(net, "stem.bn", x)
    for row, (expansion, filters, repetitions, stride) in enumerate(BLOCKS, start=1):
        for number in range(1, min(repetitions, p.repeats) + 1):
            step = stride if number == 1 else 1
            x = inverted_residual(
                net, f"row{row}.block{number}", x, expansion, scaled(filters, p.width), step
            )
    x = net.convolution("last.conv", x, scaled(LAST, p.width), 1, bias=False)
    x = net.global_average_pool(normalized(net, "last.bn", x))
    x = net.dense("classifier", net.dropout(net.flatten(x), ratio=p.dropout), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="mobilenet_v2",
        task="image classification",
        source="Sandler et al. 2018, arXiv 1801.04381, table 2",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9, weight_decay=4e-5),
        batch_size=4,
        published=(Published(3_504_872, 601_548_544),),
        reduced={"image_size": 48, "classes": 10, "width": 0.25, "repeats": 2},
        reduced_batch_size=4,
    )
