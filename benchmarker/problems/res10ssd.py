"""A face detector with 300x300 pixels: SSD on a residual network of ten layers."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Whole
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.problems.layers import ssd
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

EXTRAS = ((128, 256, 2), (64, 128, 2), (64, 128, 1), (64, 128, 1))
"""Filters of the 1x1 and of the 3x3 convolution, stride of the latter."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``classes`` include the background, ``width`` multiplies the filters of every layer but the heads,
    ``positives`` is how many boxes of an image are matched on average.
    """

    classes: Annotated[int, Whole(2, MAX_COUNT)] = 2
    image_size: int = 300
    channels: int = 3
    width: float = 1.0
    positives: int = 16


def normalized(net: Network, name: str, x: Value) -> Value:
    """Batch normalization and rectifier, which stand before the convolutions of a block."""
    result: Value = net.relu(net.batch_norm(name, x))
    return result


def block(
    net: Network, name: str, x: Value, inner: int, filters: int, *, stride: int = 1, dilation: int = 1
) -> tuple[Value, Value]:
    """Return the block's rectified input and its sum (He et al. 2016, arXiv 1603.05027, figure 1b).

    Two 3x3 convolutions, the first with the stride, the second with the dilation, beside a 1x1 convolution of the
    rectified input.
    """
    before = normalized(net, f"{name}.bn1", x)
    y = net.convolution(f"{name}.conv1", before, inner, 3, stride=stride, pad=1, bias=False)
    y = normalized(net, f"{name}.bn2", y)
    y = net.convolution(f"{name}.conv2", y, filters, 3, pad=dilation, dilation=dilation, bias=False)
    expanded = net.convolution(f"{name}.expand", before, filters, 1, stride=stride, bias=False)
    return before, net.add(y, expanded)


def maps(net: Network, x: Value, width: float) -> list[Value]:
    """Return the six maps that boxes are predicted from."""

    def filters(count: int) -> int:
        return scaled(count, width)

    x = net.convolution("conv1", net.batch_norm("data.bn", x), filters(32), 7, stride=2, pad=3)
    x = net.pool(normalized(net, "conv1.bn", x), 3, stride=2, ceil_mode=True)
    y = net.convolution("layer1.conv1", x, filters(32), 3, pad=1, bias=False)
    y = net.convolution("layer1.conv2", normalized(net, "layer1.bn2", y), filters(32), 3, pad=1, bias=False)
    _, x = block(net, "layer2", net.add(y, x), filters(128), filters(128), stride=2)
    first, x = block(net, "layer3", x, filters(256), filters(256), stride=2)
    _, x = block(net, "layer4", x, filters(128), filters(256), dilation=2)
    x = normalized(net, "last.bn", x)
    found = [ssd.unit_length(net, "layer3", first), x]
    for number, (squeezed, kept, stride) in enumerate(EXTRAS, start=6):
        x = net.relu(net.convolution(f"conv{number}_1", x, filters(squeezed), 1))
        x = net.relu(net.convolution(f"conv{number}_2", x, filters(kept), 3, stride=stride, pad=1))
        found.append(x)
    return found


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns each default box's logits and offsets."""
    image = net.input("image", (p.channels, p.image_size, p.image_size))
    ssd.detect(net, maps(net, image, p.width), p.classes, p.positives)


def benchmarker_problem() -> Problem:
    return Problem(
        name="res10ssd",
        task="object detection",
        source="OpenCV, samples/dnn/face_detector/deploy.prototxt; the loss of Liu et al. 2015, arXiv 1512.02325",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=1e-3, momentum=0.9, weight_decay=5e-4),
        batch_size=4,
        published=(Published(2_660_154, 2_357_749_504),),
        # Layers of 8 channels and more: oneDNN's kernel for AVX2 ends in wrong gradients, or crashes, with fewer.
        reduced={"image_size": 96, "width": 0.25, "positives": 4},
        reduced_batch_size=2,
    )
