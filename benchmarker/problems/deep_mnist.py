"""The deeper network of Deep500 for MNIST."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``dropout`` is the ratio before each fully connected layer."""

    classes: int = 10
    image_size: int = 28
    channels: int = 1
    filters1: int = 32
    filters2: int = 64
    hidden: int = 512
    dropout: float = 0.5


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.channels, p.image_size, p.image_size))
    label = net.labels("label", p.classes)
    for group, filters in enumerate((p.filters1, p.filters2), start=1):
        for layer in (1, 2):
            x = net.convolution(f"conv{group}_{layer}", x, filters, 3, pad=1)
            x = net.relu(net.batch_norm(f"bn{group}_{layer}", x))
        x = net.pool(x, 2)
    x = net.flatten(x)
    for name in ("fc1", "fc2"):
        x = net.relu(net.dense(name, net.dropout(x, ratio=p.dropout), p.hidden))
    x = net.dense("fc3", net.dropout(x, ratio=p.dropout), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="deep_mnist",
        task="image classification",
        source="Deep500 (Ben-Nun et al. 2019, arXiv 1901.10183), deep500/networks/pytorch_deep_mnist.py",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("momentum", learning_rate=0.01, momentum=0.9, weight_decay=1e-4),
        batch_size=128,
        published=(Published(1_939_306, 40_324_096),),
        reduced={"image_size": 12, "filters1": 4, "filters2": 8, "hidden": 16},
        reduced_batch_size=4,
    )
