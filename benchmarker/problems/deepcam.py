"""DeepCAM: segmentation of extreme weather, a DeepLabv3+ on a modified Xception."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import ONES, ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.resnet import LAST_SCALE
from benchmarker.problems.layers.separable import separable
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

STEM = (32, 64)
ENTRY = (128, 256, 728)
EXIT = 1024
LAST = (1536, 1536, 2048)
"""Filters of the flows; the convolutions of ``LAST`` have dilation 2 (output stride 16)."""
RATES = (6, 12, 18)
"""Dilations of the spatial pyramid."""
FILTERS = 256
LOW_LEVEL = 48
"""Filters that the first entry block is reduced to for the decoder."""
FREQUENCIES = (0.98627, 0.00045787, 0.013274)
"""Shares of background, tropical cyclones and atmospheric rivers among the pixels."""
WEIGHT_POWER = -0.125
"""A class weighs its frequency to this power."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``width`` multiplies the filters of every layer and ``middle_blocks`` is how often the middle flow is
    repeated; ``weighted`` weighs the three classes in the loss by their rarity.
    """

    classes: int = 3
    image_height: int = 768
    image_width: int = 1152
    channels: int = 16
    width: float = 1.0
    middle_blocks: int = 16
    weighted: bool = True


def normalized(net: Network, name: str, x: Value, *, start: float = 1.0) -> Value:
    """Batch normalization and rectifier."""
    result: Value = net.relu(net.batch_norm(f"{name}.bn", x, start=start))
    return result


def entry(net: Network, name: str, x: Value, filters: int) -> Value:
    """Two separable convolutions and a third with stride 2, beside a 1x1 convolution with stride 2."""
    y = normalized(net, f"{name}.sep1", separable(net, f"{name}.sep1", x, filters))
    y = net.batch_norm(f"{name}.sep2.bn", separable(net, f"{name}.sep2", y, filters), start=LAST_SCALE)
    y = separable(net, f"{name}.sep3", y, filters, stride=2)
    shortcut = net.convolution(f"{name}.shortcut.conv", x, filters, 1, stride=2, bias=False)
    result: Value = net.relu(net.add(y, net.batch_norm(f"{name}.shortcut.bn", shortcut)))
    return result


def middle(net: Network, name: str, x: Value) -> Value:
    """Three separable convolutions beside the identity."""
    y, filters = x, x.shape[1]
    for number in (1, 2):
        y = normalized(net, f"{name}.sep{number}", separable(net, f"{name}.sep{number}", y, filters))
    y = net.batch_norm(f"{name}.sep3.bn", separable(net, f"{name}.sep3", y, filters), start=LAST_SCALE)
    result: Value = net.relu(net.add(y, x))
    return result


def leave(net: Network, name: str, x: Value, filters: int) -> Value:
    """The first block of the exit flow: three separable convolutions beside a 1x1 convolution."""
    y = normalized(net, f"{name}.sep1", separable(net, f"{name}.sep1", x, x.shape[1]))
    y = net.batch_norm(f"{name}.sep2.bn", separable(net, f"{name}.sep2", y, filters), start=LAST_SCALE)
    y = separable(net, f"{name}.sep3", y, filters)
    shortcut = net.convolution(f"{name}.shortcut.conv", x, filters, 1, bias=False)
    result: Value = net.add(y, net.batch_norm(f"{name}.shortcut.bn", shortcut))
    return result


def encoder(net: Network, x: Value, p: Parameters) -> tuple[Value, Value]:
    """Return features at a sixteenth of the size, and those of low level at a quarter."""
    for number, (filters, stride) in enumerate(zip(STEM, (2, 1)), start=1):
        name = f"stem{number}"
        x = net.convolution(f"{name}.conv", x, scaled(filters, p.width), 3, stride=stride, pad=1, bias=False)
        x = normalized(net, name, x)
    entered = []
    for number, filters in enumerate(ENTRY, start=1):
        x = entry(net, f"entry{number}", x, scaled(filters, p.width))
        entered.append(x)
    for number in range(1, p.middle_blocks + 1):
        x = middle(net, f"middle{number}", x)
    x = leave(net, "exit", x, scaled(EXIT, p.width))
    for number, filters in enumerate(LAST, start=1):
        name = f"last{number}"
        x = normalized(net, name, separable(net, name, x, scaled(filters, p.width), dilation=2))
    return x, entered[0]


def spatial_pyramid(net: Network, x: Value, filters: int) -> Value:
    """One 1x1 and three dilated 3x3 convolutions and the image's mean, joined and projected."""
    name = "pyramid.point"
    branches = [normalized(net, name, net.convolution(f"{name}.conv", x, filters, 1, bias=False))]
    for rate in RATES:
        name = f"pyramid.rate{rate}"
        y = net.convolution(f"{name}.conv", x, filters, 3, pad=rate, dilation=rate, bias=False)
        branches.append(normalized(net, name, y))
    mean = net.convolution("pyramid.mean.conv", net.global_average_pool(x), filters, 1, bias=False)
    mean = net.mul(mean, net.parameter("pyramid.mean.scale", (filters, 1, 1), ONES))
    mean = net.relu(net.add(mean, net.parameter("pyramid.mean.shift", (filters, 1, 1), ZEROS)))
    branches.append(net.expand(mean, shape=branches[0].shape))
    x = net.convolution("pyramid.project.conv", net.concat(*branches, axis=1), filters, 1, bias=False)
    return normalized(net, "pyramid.project", x)


def doubled(net: Network, name: str, x: Value, filters: int) -> Value:
    """3x3 transposed convolution that doubles the size."""
    return net.transposed_convolution(name, x, filters, 3, stride=2, pad=1, output_padding=1, bias=False)


def decoder(net: Network, x: Value, low_level: Value, p: Parameters) -> Value:
    """Double the size four times; features of low level join in half-way."""
    filters = scaled(FILTERS, p.width)
    low_level = net.convolution("low_level.conv", low_level, scaled(LOW_LEVEL, p.width), 1, bias=False)
    low_level = normalized(net, "low_level", low_level)
    for number in (1, 2):
        x = normalized(net, f"up{number}", doubled(net, f"up{number}.conv", x, filters))
    x = net.concat(x, low_level, axis=1)
    for number in (1, 2):
        name = f"refine{number}"
        x = normalized(net, name, net.convolution(f"{name}.conv", x, filters, 3, pad=1, bias=False))
    x = net.convolution("refine3.conv", x, filters, 1)
    x = normalized(net, "up3", doubled(net, "up3.conv", x, filters))
    return doubled(net, "up4.conv", x, p.classes)


def loss(net: Network, logits: Value, label: Value, weighted: bool) -> Value:
    """Mean over the pixels of the cross-entropy, each times the weight of its class."""
    if not weighted:
        plain: Value = net.softmax_cross_entropy_loss(logits, label)
        return plain
    weights = tuple(frequency**WEIGHT_POWER for frequency in FREQUENCIES)
    table = net.constant("class_weights", (len(weights),), Distribution("values", values=weights))
    result: Value = net.reduce_mean(net.softmax_cross_entropy_loss(logits, label, table, reduction="none"))
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; it returns the logits of every pixel."""
    if p.weighted and p.classes != len(FREQUENCIES):
        raise UsageError(
            f"the class weights are those of {len(FREQUENCIES)} classes, got classes={p.classes}; "
            "with other classes take weighted=false"
        )
    if p.image_height % 16 or p.image_width % 16:
        raise UsageError(
            f"'image_height' and 'image_width' must be multiples of 16, got {p.image_height} and {p.image_width}"
        )
    sizes = (p.image_height, p.image_width)
    x = net.input("image", (p.channels, *sizes))
    label = net.input("label", sizes, "int64", Distribution("integers", p.classes))
    x, low_level = encoder(net, x, p)
    logits = decoder(net, spatial_pyramid(net, x, scaled(FILTERS, p.width)), low_level, p)
    net.output(logits)
    net.loss(loss(net, logits, label, p.weighted))


def benchmarker_problem() -> Problem:
    return Problem(
        name="deepcam",
        task="semantic segmentation",
        source="Kurth et al. 2018, arXiv 1810.01993, in MLPerf HPC's form: deepcam/src/deepCam/architecture",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adamw", learning_rate=1e-3, weight_decay=1e-2),
        batch_size=1,
        published=(
            Published(56_454_720, 655_337_666_560),
            Published(
                56_492_448,
                199_119_945_728,
                {"classes": 21, "channels": 3, "image_height": 512, "image_width": 512, "weighted": False},
            ),
        ),
        reduced={"image_height": 48, "image_width": 64, "channels": 4, "width": 0.125, "middle_blocks": 2},
        reduced_batch_size=4,
    )
