"""One layer normalization."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Length of the sequence, and its features, over which it is normalized."""

    length: int = 512
    width: int = 768
    epsilon: float = 1e-5


def build(net: Network, p: Parameters) -> None:
    """Add the layer to ``net``; in training its loss is the mean of the squared output."""
    if p.epsilon <= 0.0:
        raise UsageError(f"'epsilon' must be above 0, got {p.epsilon:g}")
    y = net.layer_norm("norm", net.input("sequence", (p.length, p.width)), epsilon=p.epsilon)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="layer_norm",
        task="operator",
        source="ONNX LayerNormalization; Ba et al. 2016, arXiv 1607.06450; width of BERT's base model",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=8,
        published=(Published(2 * 768, 0),),
        reduced={"length": 5, "width": 7},
    )
