"""A perceptron for MNIST with two hidden layers."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the layers."""

    inputs: int = 784
    hidden1: int = 128
    hidden2: int = 64
    classes: int = 10


def build(net: Network, p: Parameters) -> None:
    x = net.input("image", (p.inputs,))
    label = net.labels("label", p.classes)
    x = net.relu(net.dense("fc1", x, p.hidden1))
    x = net.relu(net.dense("fc2", x, p.hidden2))
    x = net.dense("fc3", x, p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="mnist_mlp",
        task="image classification",
        source="Deuschle et al., Rysia, table 4: 784-128-64-10, SGD 0.01, batch 128",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=128,
        published=(Published(109_386, 218_368),),
        reduced_batch_size=8,
    )
