"""BERT-Base."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.errors import UsageError
from benchmarker.framework import Optimizer
from benchmarker.graph.network import Network
from benchmarker.layers import bert
from benchmarker.problem import Problem, Published

HEADS = ("mlm", "pooler", "classification")
EPSILON = 1e-12
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
    """Sizes of the network.

    ``head`` is ``mlm`` (masked language model), ``pooler`` (the first token's features; in training the
    loss is their mean square) or ``classification`` into ``classes``.
    """

    head: str = "mlm"
    length: bert.Length = 128
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    classes: int = 3
    dropout: float = 0.1


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``."""
    if p.head not in HEADS:
        raise UsageError(f"'head' must be one of {', '.join(HEADS)}, got '{p.head}'")
    sizes = bert.Encoder(
        length=p.length,
        vocabulary=p.vocabulary,
        layers=p.layers,
        width=p.width,
        heads=p.heads,
        feed_forward=p.feed_forward,
        positions=p.positions,
        dropout=p.dropout,
        epsilon=EPSILON,
    )
    x, table = bert.encode(net, sizes)
    if p.head == "mlm":
        bert.masked_language_model(net, x, table, EPSILON)
    elif p.head == "pooler":
        bert.pooler(net, x)
    else:
        bert.classification(net, x, p.classes, p.dropout)


def benchmarker_problem() -> Problem:
    """Return the problem."""
    return Problem(
        name="bert_base",
        task="language modelling",
        source="Devlin et al. 2018, arXiv 1810.04805, section 3 and appendix A.2",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adamw", learning_rate=1e-4, epsilon=1e-6, weight_decay=0.01),
        batch_size=4,
        published=(
            Published(109_514_298, 28_499_116_032),
            Published(109_514_298, 58_206_191_616, {"length": 256}),
            Published(109_514_298, 121_244_221_440, {"length": 512}),
            Published(109_482_240, None, {"head": "pooler"}),
            Published(109_484_547, 22_348_435_968, {"head": "classification"}),
        ),
        reduced=REDUCED,
        reduced_batch_size=4,
    )
