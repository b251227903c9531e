"""SSD with 300x300 pixels on VGG-16."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers import vgg
from benchmarker.problems.layers.sizes import scaled

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""VGG-16's convolutions and their filters (Simonyan & Zisserman 2014, table 1, column D)."""
FC = 1024
"""Filters of the convolutions that VGG-16's fully connected layers became."""
EXTRAS = ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
"""Filters of the 1x1 and of the 3x3 convolution, stride and padding of the latter (Liu et al. 2015, figure 2)."""
BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes at each position of the six maps (figure 2)."""
COORDINATES = 4
FIRST_SCALE = 20.0
"""Start of the learned scale of the first map (section 3.1)."""
HARD_NEGATIVES = 3
"""Negatives for each positive (section 2.2)."""


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


def unit_length(net: Network, name: str, x: Value) -> Value:
    """Divide each position's features by their norm and scale each channel (Liu et al. 2015, section 3.1)."""
    scale = net.parameter(f"{name}.scale", (x.shape[1], 1, 1), Distribution("constant", FIRST_SCALE))
    squares = net.reduce_sum(net.mul(x, x), axes=(1,), keepdims=True)
    result: Value = net.mul(net.div(x, net.sqrt(net.affine(squares, beta=1e-10))), scale)
    return result


def maps(net: Network, x: Value, width: float) -> list[Value]:
    """Return the six maps that boxes are predicted from."""
    found = []
    for number, (convolutions, filters) in enumerate(GROUPS, start=1):
        x = vgg.group(net, number, x, convolutions, scaled(filters, width))
        if number == 4:
            found.append(unit_length(net, "conv4", x))
        x = net.pool(x, 2, ceil_mode=True) if number < 5 else net.pool(x, 3, stride=1, pad=1)
    x = net.relu(net.convolution("fc6", x, scaled(FC, width), 3, pad=6, dilation=6))
    x = net.relu(net.convolution("fc7", x, scaled(FC, width), 1))
    found.append(x)
    for number, (squeezed, filters, stride, pad) in enumerate(EXTRAS, start=8):
        x = net.relu(net.convolution(f"conv{number}_1", x, scaled(squeezed, width), 1))
        x = net.relu(net.convolution(f"conv{number}_2", x, scaled(filters, width), 3, stride=stride, pad=pad))
        found.append(x)
    return found


def head(net: Network, name: str, features: Sequence[Value], values: int) -> Value:
    """Predict ``values`` numbers for each default box, ``(N, boxes, values)``."""
    parts = []
    for number, (x, boxes) in enumerate(zip(features, BOXES), start=1):
        y = net.convolution(f"{name}{number}", x, boxes * values, 3, pad=1)
        y = net.reshape(y, shape=(0, boxes, values, -1))
        parts.append(net.reshape(net.transpose(y, perm=(0, 3, 1, 2)), shape=(0, -1, values)))
    result: Value = net.concat(*parts, axis=1)
    return result


def loss(net: Network, p: Parameters, scores: Value, offsets: Value) -> Value:
    """Localization and confidence loss over the number of matched boxes (equations 1 to 3).

    A box is matched where its label is not 0, the background. Smooth L1 counts for matched boxes alone;
    softmax cross-entropy for these and, in each image, for the unmatched ones that are worst: three for
    each match that is expected, a fixed number, so that every shape is known beforehand.
    """
    batch, boxes, classes = scores.shape
    if p.positives > boxes:
        raise UsageError(f"'positives' must be at most the {boxes} boxes of an image, got {p.positives}")
    matched = p.positives / boxes
    label = net.input(
        "label", (boxes,), "int64", Distribution("integers", classes, low=1, probability=matched)
    )
    target = net.input("target", (boxes, COORDINATES))
    positive = net.clip(net.cast(label), min=0.0, max=1.0)
    distance = net.reduce_sum(net.huber(net.sub(offsets, target)), axes=(2,))
    flat = net.reshape(scores, shape=(-1, classes))
    entropy = net.softmax_cross_entropy_loss(flat, net.reshape(label, shape=(-1,)), reduction="none")
    entropy = net.reshape(entropy, shape=(batch, boxes))
    positives = net.reduce_sum(net.mul(net.add(entropy, distance), positive))
    negative = net.mul(entropy, net.affine(positive, alpha=-1.0, beta=1.0))
    hardest = net.reduce_sum(net.top_k(negative, k=min(boxes, HARD_NEGATIVES * p.positives)))
    number = net.clip(net.reduce_sum(positive), min=1.0, max=float(batch * boxes))
    result: Value = net.div(net.add(positives, hardest), number)
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns each default box's logits and offsets."""
    features = maps(net, net.input("image", (p.channels, p.image_size, p.image_size)), p.width)
    scores = head(net, "class", features, p.classes)
    offsets = head(net, "box", features, COORDINATES)
    net.output(scores)
    net.output(offsets)
    net.loss(loss(net, p, scores, offsets))


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
