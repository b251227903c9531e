"""What single-shot detectors share: heads on several maps, and their loss (Liu et al. 2015, arXiv 1512.02325)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution

BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes at each position of the six maps (figure 2)."""
COORDINATES = 4
FIRST_SCALE = 20.0
"""Start of the learned scale of the first map (section 3.1)."""
HARD_NEGATIVES = 3
"""Negatives for each positive (section 2.2)."""


def unit_length(net: Network, name: str, x: Value) -> Value:
    """Divide each position's features by their norm and scale each channel (Liu et al. 2015, section 3.1)."""
    scale = net.parameter(f"{name}.scale", (x.shape[1], 1, 1), Distribution("constant", FIRST_SCALE))
    squares = net.reduce_sum(net.mul(x, x), axes=(1,), keepdims=True)
    result: Value = net.mul(net.div(x, net.sqrt(net.affine(squares, beta=1e-10))), scale)
    return result


def head(net: Network, name: str, features: Sequence[Value], values: int) -> Value:
    """Predict ``values`` numbers for each default box, ``(N, boxes, values)``."""
    parts = []
    for number, (x, boxes) in enumerate(zip(features, BOXES), start=1):
        y = net.convolution(f"{name}{number}", x, boxes * values, 3, pad=1)
        y = net.reshape(y, shape=(0, boxes, values, -1))
        parts.append(net.reshape(net.transpose(y, perm=(0, 3, 1, 2)), shape=(0, -1, values)))
    result: Value = net.concat(*parts, axis=1)
    return result


def loss(net: Network, scores: Value, offsets: Value, positives: int) -> Value:
    """Localization and confidence loss over the number of matched boxes (equations 1 to 3).

    A box is matched where its label is not 0, the background. Smooth L1 counts for matched boxes alone;
    softmax cross-entropy for these and, in each image, for the unmatched ones that are worst: three for
    each of the ``positives`` that an image has on average, a fixed number, so that every shape is known
    beforehand.
    """
    batch, boxes, classes = scores.shape
    if positives > boxes:
        raise UsageError(f"'positives' must be at most the {boxes} boxes of an image, got {positives}")
    matched = positives / boxes
    label = net.input(
        "label", (boxes,), "int64", Distribution("integers", classes, low=1, probability=matched)
    )
    target = net.input("target", (boxes, COORDINATES))
    positive = net.clip(net.cast(label), min=0.0, max=1.0)
    distance = net.reduce_sum(net.huber(net.sub(offsets, target)), axes=(2,))
    flat = net.reshape(scores, shape=(-1, classes))
    entropy = net.softmax_cross_entropy_loss(flat, net.reshape(label, shape=(-1,)), reduction="none")
    entropy = net.reshape(entropy, shape=(batch, boxes))
    of_matched = net.reduce_sum(net.mul(net.add(entropy, distance), positive))
    negative = net.mul(entropy, net.affine(positive, alpha=-1.0, beta=1.0))
    hardest = net.reduce_sum(net.top_k(negative, k=min(boxes, HARD_NEGATIVES * positives)))
    number = net.clip(net.reduce_sum(positive), min=1.0, max=float(batch * boxes))
    result: Value = net.div(net.add(of_matched, hardest), number)
    return result


def detect(net: Network, features: Sequence[Value], classes: int, positives: int) -> None:
    """Make each default box's logits and offsets the outputs, and their loss the network's."""
    scores = head(net, "class", features, classes)
    offsets = head(net, "box", features, COORDINATES)
    net.output(scores)
    net.output(offsets)
    net.loss(loss(net, scores, offsets, positives), over="matched boxes")
