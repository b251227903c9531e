"""The small convolutional network of Deep500 for MNIST."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network."""

    classes: int = 10
    image_size: int = 28
    channels: int = 1
    filters1: int = 10
    filters2: int = 20
    kernel: int = 5
    hidden: int = 50


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    x = net.relu(net.pool(net.convolution("conv1", x, p.filters1, p.kernel), 2))
    x = net.relu(net.pool(net.convolution("conv2", x, p.filters2, p.kernel), 2))
    x = net.relu(net.dense("fc1", net.flatten(x), p.hidden))
    x = net.dense("fc2", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="simple_cnn",
        task="image classification",
        source="Deep500 (Ben-Nun et al. 2019, arXiv 1901.10183), deep500/networks/pytorch_mnist.py",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.1),
        batch_size=128,
        published=(Published(21_840, 961_000),),
        reduced_batch_size=4,
    )
