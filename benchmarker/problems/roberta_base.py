"""RoBERTa, base size."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers import bert
from benchmarker.problem import Problem, Published

EPSILON = 1e-5
FIRST_POSITION = 2
"""The rows before it belong to the padding token, in the numbering of the paper's program."""
REDUCED = {
    "length": 16,
    "layers": 2,
    "width": 24,
    "heads": 3,
    "feed_forward": 48,
    "vocabulary": 50,
    "positions": 20,
}


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network, a masked language model; two of its ``positions`` are no token's."""

    length: int = 128
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 50265
    positions: int = 514
    dropout: float = 0.1


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    sizes = bert.Encoder(
        length=p.length,
        vocabulary=p.vocabulary,
        layers=p.layers,
        width=p.width,
        heads=p.heads,
        feed_forward=p.feed_forward,
        positions=p.positions,
        offset=FIRST_POSITION,
        segments=1,
        dropout=p.dropout,
        epsilon=EPSILON,
    )
    x, table = bert.encode(net, sizes)
    bert.masked_language_model(net, x, table, EPSILON)


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="roberta_base",
        task="language modelling",
        source="Liu et al. 2019, arXiv 1907.11692, section 5 and table 9",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adamw", learning_rate=6e-4, beta2=0.98, epsilon=1e-6, weight_decay=0.01),
        batch_size=4,
        published=(
            Published(124_697_433, 32_380_747_776),
            Published(124_697_433, 65_969_455_104, {"length": 256}),
            Published(124_697_433, 136_770_748_416, {"length": 512}),
        ),
        reduced=REDUCED,
        reduced_batch_size=4,
    )
