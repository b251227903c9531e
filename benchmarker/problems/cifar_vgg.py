"""The VGG of the Rysia study for CIFAR-10: ten convolutions and three fully connected layers."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.problems.layers import vgg
from benchmarker.problems.layers.sizes import scaled
from benchmarker.quick_dataclass import dataclass

GROUPS = ((2, 64), (2, 128), (3, 256), (3, 512))
"""3x3 convolutions and their filters before each pooling."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``width`` multiplies the filters of every convolution."""

    classes: int = 10
    image_size: int = 32
    channels: int = 3
    width: float = 1.0
    hidden1: int = 512
    hidden2: int = 256


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = vgg.features(net, x, [(n, scaled(filters, p.width)) for n, filters in GROUPS])
    x = net.relu(net.dense("fc1", net.flatten(x), p.hidden1))
    x = net.relu(net.dense("fc2", x, p.hidden2))
    x = net.dense("fc3", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="cifar_vgg",
        task="image classification",
        source="Deuschle et al., Rysia, section 4 and table 4: VGG for CIFAR-10, Adam 0.01, batch 128",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=0.01),
        batch_size=128,
        published=(Published(8_818_250),),
        reduced={"image_size": 16, "width": 0.125, "hidden1": 32, "hidden2": 16},
        reduced_batch_size=4,
    )
