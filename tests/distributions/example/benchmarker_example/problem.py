"""Two fully connected layers."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.api import Network, Optimizer, Problem


@dataclass(frozen=True)
class Parameters:
    width: int = 32
    classes: int = 5


def build(net: Network, p: Parameters) -> None:
    x = net.input("features", (p.width,))
    label = net.labels("label", p.classes)
    x = net.dense("last", net.relu(net.dense("first", x, 2 * p.width)), p.classes)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))


def benchmarker_problem() -> Problem:
    return Problem(
        name="two_layers",
        task="classification",
        source="an example",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.1),
        batch_size=8,
    )
