"""Rows of a table, looked up by index."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Length of the sequence, rows of the table, features of a row."""

    length: int = 512
    vocabulary: int = 30522
    width: int = 768


def build(net: Network, p: Parameters) -> None:
    """Add the look-up to ``net``; in training its loss is the mean of the squared output."""
    token = net.input("token", (p.length,), "int64", Distribution("integers", p.vocabulary))
    y = net.embedding("embedding", token, p.vocabulary, p.width)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="embedding",
        task="operator",
        source="ONNX Gather; the default is the token table of BERT's base model (Devlin et al. 2018)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=8,
        published=(Published(30522 * 768, 0),),
        reduced={"length": 6, "vocabulary": 11, "width": 5},
    )
