"""Residual networks (He et al. 2015, arXiv 1512.03385)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers.sizes import counts, scaled
from benchmarker.quick_dataclass import dataclass

STAGES = (64, 128, 256, 512)
"""Filters of the 3x3 convolutions in each stage (table 1)."""
EXPANSION = 4
"""Filters that a bottleneck returns, over those of its 3x3 convolution."""
LAST_SCALE = 0.1
"""Start of the scale that closes a residual branch. Goyal et al. 2017 (arXiv 1706.02677, section 5.1) take 0;
this is near it, yet leaves every weight a gradient to verify, and float32 rounding of it small."""
REDUCED = {"classes": 10, "image_size": 64, "width": 0.125, "blocks": "2-1-1-1"}
"""A small version of the networks for ImageNet: both shortcuts, four stages, 2x2 positions at the end."""

Shortcut = Callable[[Network, str, Value, int, int], Value]
Block = Callable[..., Value]


def projection(net: Network, name: str, x: Value, filters: int, stride: int) -> Value:
    """Shortcut by a 1x1 convolution where the shape changes (section 3.3, option B)."""
    if stride == 1 and x.shape[1] == filters:
        return x
    x = net.convolution(f"{name}.shortcut.conv", x, filters, 1, stride=stride, bias=False)
    return net.batch_norm(f"{name}.shortcut.bn", x)


def identity(net: Network, name: str, x: Value, filters: int, stride: int) -> Value:
    """Shortcut without parameters: every ``stride``-th position, channels of zeros added (option A)."""
    if stride != 1:
        ends = x.shape[2:]
        x = net.slice(x, axes=(2, 3), starts=(0, 0), ends=ends, steps=(stride, stride))
    if x.shape[1] != filters:
        x = net.pad(x, pads=(0, 0, 0, 0, 0, filters - x.shape[1], 0, 0))
    return x


def basic(
    net: Network, name: str, x: Value, width: int, *, stride: int = 1, shortcut: Shortcut = projection
) -> Value:
    """Two 3x3 convolutions beside a shortcut (figure 5, left)."""
    y = net.convolution(f"{name}.conv1", x, width, 3, stride=stride, pad=1, bias=False)
    y = net.relu(net.batch_norm(f"{name}.bn1", y))
    y = net.convolution(f"{name}.conv2", y, width, 3, pad=1, bias=False)
    y = net.batch_norm(f"{name}.bn2", y, start=LAST_SCALE)
    result: Value = net.relu(net.add(y, shortcut(net, name, x, width, stride)))
    return result


def bottleneck(net: Network, name: str, x: Value, width: int, *, stride: int = 1, dilation: int = 1) -> Value:
    """1x1, 3x3 and 1x1 convolutions beside a shortcut (figure 5, right); v1.5: the stride is in the 3x3."""
    y = net.relu(net.batch_norm(f"{name}.bn1", net.convolution(f"{name}.conv1", x, width, 1, bias=False)))
    y = net.convolution(
        f"{name}.conv2", y, width, 3, stride=stride, pad=dilation, dilation=dilation, bias=False
    )
    y = net.relu(net.batch_norm(f"{name}.bn2", y))
    y = net.convolution(f"{name}.conv3", y, width * EXPANSION, 1, bias=False)
    y = net.batch_norm(f"{name}.bn3", y, start=LAST_SCALE)
    result: Value = net.relu(net.add(y, projection(net, name, x, width * EXPANSION, stride)))
    return result


def stem(net: Network, x: Value, filters: int) -> Value:
    """7x7 convolution and maximum pooling, each with stride 2."""
    x = net.convolution("stem.conv", x, filters, 7, stride=2, pad=3, bias=False)
    return net.pool(net.relu(net.batch_norm("stem.bn", x)), 3, stride=2, pad=1)


def stage(
    net: Network, name: str, x: Value, block: Block, blocks: int, width: int, stride: int, **attributes: Any
) -> Value:
    """``blocks`` blocks, the first of which has the stride; ``attributes`` are the block's own."""
    for number in range(1, blocks + 1):
        step = stride if number == 1 else 1
        x = block(net, f"{name}.block{number}", x, width, stride=step, **attributes)
    return x


@dataclass(frozen=True)
class ImageNet:
    """Sizes of the network: ``blocks`` of its four stages, ``width`` times the table's filters."""

    classes: int = 1000
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    blocks: str = "3-4-6-3"


def classify(net: Network, p: ImageNet, block: Block) -> None:
    """Stem, four stages of ``block``, pooling and a fully connected layer (table 1)."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = stem(net, x, scaled(STAGES[0], p.width))
    for number, (blocks, filters) in enumerate(zip(counts("blocks", p.blocks, 4), STAGES), start=1):
        stride = 1 if number == 1 else 2
        x = stage(net, f"stage{number}", x, block, blocks, scaled(filters, p.width), stride)
    x = net.dense("classifier", net.flatten(net.global_average_pool(x)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
