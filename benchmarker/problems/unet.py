"""U-Net."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import scaled, window_pads
from benchmarker.quick_dataclass import dataclass

LEVELS = (64, 128, 256, 512, 1024)
"""Filters of each level, from the image's size down (Ronneberger et al. 2015, figure 1)."""
MAX_WEIGHT = 11.0
"""Weights of pixels are between 1 and this: the paper adds at most 10 between touching cells (equation 2)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every layer; ``padding`` is ``valid``, as in the paper, or
    ``same``; with ``batch_norm`` each 3x3 convolution is normalized and has no bias; ``dropout`` is the
    ratio after the last two levels on the way down; ``weighted`` weighs every pixel in the loss.
    """

    classes: int = 2
    image_size: int = 572
    channels: int = 1
    width: float = 1.0
    padding: str = "valid"
    batch_norm: bool = False
    dropout: float = 0.5
    weighted: bool = True


def pair(net: Network, name: str, x: Value, filters: int, p: Parameters) -> Value:
    """Two 3x3 convolutions, each with a rectifier."""
    for number in (1, 2):
        pads = window_pads(p.padding, x.shape[2:], 3)
        x = net.convolution(f"{name}.conv{number}", x, filters, 3, pads=pads, bias=not p.batch_norm)
        if p.batch_norm:
            x = net.batch_norm(f"{name}.bn{number}", x)
        x = net.relu(x)
    return x


def cropped(net: Network, x: Value, sizes: tuple[int, ...]) -> Value:
    """Take the middle of ``x``."""
    if x.shape[2:] == sizes:
        return x
    starts = tuple((old - new) // 2 for old, new in zip(x.shape[2:], sizes))
    ends = tuple(start + new for start, new in zip(starts, sizes))
    result: Value = net.slice(x, axes=(2, 3), starts=starts, ends=ends)
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the logits of every pixel."""
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    skipped: list[Value] = []
    for level, filters in enumerate(LEVELS, start=1):
        x = pair(net, f"down{level}", net.pool(x, 2) if skipped else x, scaled(filters, p.width), p)
        if p.dropout and level >= len(LEVELS) - 1:
            x = net.dropout(x, ratio=p.dropout)
        skipped.append(x)
    for level in range(len(LEVELS) - 1, 0, -1):
        filters = scaled(LEVELS[level - 1], p.width)
        x = net.transposed_convolution(f"up{level}.transposed", x, filters, 2, stride=2)
        x = net.concat(cropped(net, skipped[level - 1], x.shape[2:]), x, axis=1)
        x = pair(net, f"up{level}", x, filters, p)
    x = net.convolution("classifier", x, p.classes, 1)
    net.output(x)
    net.loss(loss(net, x, p))


def loss(net: Network, logits: Value, p: Parameters) -> Value:
    """Mean over the pixels of the cross-entropy, each times its weight (equation 1)."""
    sizes = logits.shape[2:]
    label = net.input("label", sizes, "int64", Distribution("integers", p.classes))
    if not p.weighted:
        plain: Value = net.softmax_cross_entropy_loss(logits, label)
        return plain
    weight = net.input("weight", sizes, distribution=Distribution("uniform", MAX_WEIGHT, low=1.0))
    entropy = net.softmax_cross_entropy_loss(logits, label, reduction="none")
    result: Value = net.reduce_mean(net.mul(entropy, weight))
    return result


def benchmarker_problem() -> Problem:
    same = {"image_size": 512, "channels": 3, "padding": "same"}
    return Problem(
        name="unet",
        task="semantic segmentation",
        source="Ronneberger et al. 2015, arXiv 1505.04597, figure 1, equations 1 and 2; padding=same with "
        "batch_norm=true is the usual later form",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=1e-3, momentum=0.99),
        batch_size=1,
        published=(
            Published(31_030_658, 300_856_848_896),
            Published(31_037_698, 385_372_651_520, {**same, "batch_norm": True}),
            Published(31_031_810, 385_372_651_520, same),
        ),
        reduced={"image_size": 188, "width": 0.0625},
        reduced_batch_size=1,
    )
