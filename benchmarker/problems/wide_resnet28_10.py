"""Wide ResNet 28-10 for CIFAR."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.resnet import LAST_SCALE
from benchmarker.quick_dataclass import dataclass

GROUPS = (16, 32, 64)
"""Filters of each group before widening, and of the first convolution (Zagoruyko & Komodakis 2016, table 1)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network, whose depth is ``6 blocks + 4``.

    ``widen`` multiplies the filters of the groups; ``dropout`` is the ratio between the two convolutions
    of a block, where the paper takes 0 or 0.3.
    """

    classes: int = 10
    image_size: int = 32
    channels: int = 3
    blocks: int = 4
    widen: int = 10
    dropout: float = 0.0


def block(net: Network, name: str, x: Value, filters: int, stride: int, dropout: float) -> Value:
    """Two 3x3 convolutions, each after normalization and rectifier, beside a shortcut."""
    active = net.relu(net.batch_norm(f"{name}.bn1", x))
    y = net.convolution(f"{name}.conv1", active, filters, 3, stride=stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(f"{name}.bn2", y, start=LAST_SCALE))
    if dropout:
        y = net.dropout(y, ratio=dropout)
    y = net.convolution(f"{name}.conv2", y, filters, 3, pad=1, bias=False)
    if stride != 1 or x.shape[1] != filters:
        x = net.convolution(f"{name}.shortcut", active, filters, 1, stride=stride, bias=False)
    result: Value = net.add(y, x)
    return result


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.convolution("stem", x, GROUPS[0], 3, pad=1, bias=False)
    for group, filters in enumerate(GROUPS, start=1):
        for number in range(1, p.blocks + 1):
            stride = 2 if group > 1 and number == 1 else 1
            x = block(net, f"group{group}.block{number}", x, filters * p.widen, stride, p.dropout)
    x = net.relu(net.batch_norm("bn", x))
    x = net.dense("classifier", net.flatten(net.global_average_pool(x)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="wide_resnet28_10",
        task="image classification",
        source="Zagoruyko & Komodakis 2016, arXiv 1605.07146, table 1, n = 4, k = 10",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("nesterov", learning_rate=0.1, momentum=0.9, weight_decay=5e-4),
        batch_size=128,
        published=(
            Published(36_479_194, 10_486_657_536),
            Published(36_536_884, values={"classes": 100}),
        ),
        reduced={"image_size": 16, "blocks": 2, "widen": 2},
        reduced_batch_size=4,
    )
