"""DeepLabv3 on ResNet-50."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers import resnet
from benchmarker.problems.layers.sizes import counts, scaled
from benchmarker.quick_dataclass import dataclass

STRIDES = (1, 2, 1, 1)
DILATIONS = ((1, 1), (1, 1), (1, 2), (2, 4))
"""Of each stage: the stride, and the dilation in the first block and in the others (output stride 8)."""
RATES = (12, 24, 36)
"""Dilations of the spatial pyramid (Chen et al. 2017, section 3.3, doubled for output stride 8)."""
FILTERS = 256
AUXILIARY_WEIGHT = 0.5


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network: ``blocks`` of the four stages, ``width`` times the filters of every layer.

    ``dropout`` is the ratio after the spatial pyramid; ``auxiliary`` adds a second classifier after the
    third stage, for the loss alone.
    """

    classes: int = 21
    image_size: int = 224
    channels: int = 3
    width: float = 1.0
    blocks: str = "3-4-6-3"
    dropout: float = 0.5
    auxiliary: bool = False


def normalized(net: Network, name: str, x: Value, filters: int, kernel: int, rate: int = 1) -> Value:
    """Convolution that keeps the size, batch normalization and rectifier."""
    pad = rate if kernel == 3 else 0
    x = net.convolution(f"{name}.conv", x, filters, kernel, pad=pad, dilation=rate, bias=False)
    result: Value = net.relu(net.batch_norm(f"{name}.bn", x))
    return result


def dilated_stage(net: Network, number: int, x: Value, blocks: int, width: int) -> Value:
    """Bottlenecks of one stage, dilated instead of strided in the last two."""
    for block in range(1, blocks + 1):
        x = resnet.bottleneck(
            net,
            f"stage{number}.block{block}",
            x,
            width,
            stride=STRIDES[number - 1] if block == 1 else 1,
            dilation=DILATIONS[number - 1][block > 1],
        )
    return x


def spatial_pyramid(net: Network, x: Value, p: Parameters) -> Value:
    """Atrous spatial pyramid pooling: one 1x1 and three dilated 3x3 convolutions, and the image's mean."""
    filters, sizes = scaled(FILTERS, p.width), x.shape[2:]
    branches = [normalized(net, "pyramid.point", x, filters, 1)]
    branches += [normalized(net, f"pyramid.rate{rate}", x, filters, 3, rate) for rate in RATES]
    mean = normalized(net, "pyramid.mean", net.global_average_pool(x), filters, 1)
    branches.append(net.resize(mean, sizes=sizes, mode="linear"))
    x = normalized(net, "pyramid.project", net.concat(*branches, axis=1), filters, 1)
    result: Value = net.dropout(x, ratio=p.dropout)
    return result


def classified(net: Network, name: str, x: Value, p: Parameters) -> Value:
    """Classify every position and interpolate to the image's size."""
    x = net.convolution(name, x, p.classes, 1)
    result: Value = net.resize(x, sizes=(p.image_size, p.image_size), mode="linear")
    return result


def auxiliary_classifier(net: Network, x: Value, p: Parameters) -> Value:
    """The second classifier, a fully convolutional head with dropout 0.1."""
    x = normalized(net, "auxiliary.head", x, x.shape[1] // 4, 3)
    return classified(net, "auxiliary.classifier", net.dropout(x, ratio=0.1), p)


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the logits of every pixel."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.input("label", (p.image_size, p.image_size), "int64", Distribution("integers", p.classes))
    x = resnet.stem(net, x, scaled(resnet.STAGES[0], p.width))
    outputs = []
    for number, (blocks, filters) in enumerate(zip(counts("blocks", p.blocks, 4), resnet.STAGES), start=1):
        x = dilated_stage(net, number, x, blocks, scaled(filters, p.width))
        outputs.append(x)
    x = normalized(net, "head", spatial_pyramid(net, x, p), scaled(FILTERS, p.width), 3)
    logits = classified(net, "classifier", x, p)
    net.output(logits)
    loss = net.softmax_cross_entropy_loss(logits, label)
    if p.auxiliary:
        second = net.softmax_cross_entropy_loss(auxiliary_classifier(net, outputs[2], p), label)
        loss = net.add(loss, net.affine(second, alpha=AUXILIARY_WEIGHT))
    net.loss(loss)


def benchmarker_problem() -> Problem:
    return Problem(
        name="deeplabv3_resnet50",
        task="semantic segmentation",
        source="Chen et al. 2017, arXiv 1706.05587, in torchvision's form, output stride 8",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9, weight_decay=1e-4),
        batch_size=2,
        published=(
            Published(39_638_869, 62_621_097_984),
            Published(39_638_869, 327_158_857_728, {"image_size": 512}),
            Published(39_638_869, 337_462_411_776, {"image_size": 520}),
            Published(42_004_074, values={"auxiliary": True}),
        ),
        reduced={"classes": 5, "image_size": 64, "width": 0.0625, "blocks": "1-1-2-2"},
        reduced_batch_size=4,
    )
