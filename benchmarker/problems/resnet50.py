"""ResNet-50 v1.5."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problem import Problem

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
"""Blocks, width and stride of the first block (He et al. 2015, table 1, column 50-layer)."""
EXPANSION = 4
LAST_SCALE = 0.1
"""Start of the scale that closes a residual branch. Goyal et al. 2017 (arXiv 1706.02677, section 5.1) take 0;
this is near it, yet leaves every weight a gradient to verify, and float32 rounding of it small."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network."""

    classes: int = 1000
    image_size: int = 224
    channels: int = 3


def bottleneck(net: Network, name: str, x: Value, width: int, stride: int) -> Value:
    """1x1, 3x3 and 1x1 convolutions around a shortcut; v1.5 puts the stride into the 3x3."""
    y = net.relu(net.batch_norm(f"{name}.bn1", net.convolution(f"{name}.conv1", x, width, 1, bias=False)))
    y = net.convolution(f"{name}.conv2", y, width, 3, stride=stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(f"{name}.bn2", y))
    y = net.convolution(f"{name}.conv3", y, width * EXPANSION, 1, bias=False)
    y = net.batch_norm(f"{name}.bn3", y, start=LAST_SCALE)
    if stride != 1 or x.shape[1] != width * EXPANSION:
        x = net.convolution(f"{name}.shortcut.conv", x, width * EXPANSION, 1, stride=stride, bias=False)
        x = net.batch_norm(f"{name}.shortcut.bn", x)
    result: Value = net.relu(net.add(y, x))
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.convolution("stem.conv", x, 64, 7, stride=2, pad=3, bias=False)
    x = net.relu(net.batch_norm("stem.bn", x))
    x = net.pool(x, 3, stride=2, pad=1)
    for stage, (blocks, width, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            x = bottleneck(net, f"stage{stage}.block{block + 1}", x, width, stride if block == 0 else 1)
    x = net.flatten(net.global_average_pool(x))
    x = net.dense("classifier", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="resnet50",
        task="image classification",
        source="He et al. 2015, arXiv 1512.03385, table 1; v1.5: stride in the 3x3 convolution",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9),
        batch_size=4,
    )
