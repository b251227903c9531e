"""ResNet-44 for CIFAR-10."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers import resnet
from benchmarker.problems.layers.sizes import require_choice, scaled
from benchmarker.quick_dataclass import dataclass

STAGES = (16, 32, 64)
"""Filters of each stage (He et al. 2015, section 4.2)."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network, whose depth is ``6 blocks + 2``; ``width`` multiplies the filters of every layer.

    ``shortcut`` is ``identity``, as in the paper (its option A), or ``projection``, as in Deep500.
    """

    classes: int = 10
    image_size: int = 32
    channels: int = 3
    width: float = 1.0
    blocks: int = 7
    shortcut: str = "identity"


def build(net: Network, p: Parameters) -> None:
    require_choice("shortcut", p.shortcut, ("identity", "projection"))
    shortcut = resnet.identity if p.shortcut == "identity" else resnet.projection
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.convolution("stem.conv", x, scaled(STAGES[0], p.width), 3, pad=1, bias=False)
    x = net.relu(net.batch_norm("stem.bn", x))
    for number, filters in enumerate(STAGES, start=1):
        stride, width = 1 if number == 1 else 2, scaled(filters, p.width)
        x = resnet.stage(net, f"stage{number}", x, resnet.basic, p.blocks, width, stride, shortcut=shortcut)
    x = net.dense("classifier", net.flatten(net.global_average_pool(x)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="resnet44",
        task="image classification",
        source="He et al. 2015, arXiv 1512.03385, section 4.2, n = 7, shortcuts of option A; "
        "shortcut=projection is Deep500's form",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.1, momentum=0.9, weight_decay=1e-4),
        batch_size=128,
        published=(
            Published(658_586, 194_348_288),
            Published(661_338, 194_872_576, {"shortcut": "projection"}),
        ),
        reduced={"image_size": 16, "width": 0.5, "blocks": 2},
        reduced_batch_size=4,
    )
