"""A language model of transformer encoder layers, of any size."""

from __future__ import annotations

import math

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import Transformer, dropout, encoder_layer, to_rows, to_samples
from benchmarker.quick_dataclass import dataclass

START = 0.1
MAX_WAVE = 10000.0


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``bidirectional`` lets a token attend to those after it too."""

    length: int = 128
    layers: int = 1
    width: int = 512
    heads: int = 8
    vocabulary: int = 1000
    bidirectional: bool = False
    dropout: float = 0.5


def build(net: Network, p: Parameters) -> None:
    kind = Distribution("integers", p.vocabulary)
    token = net.input("token", (p.length,), "int64", kind)
    label = net.input("label", (p.length,), "int64", kind)
    start = Distribution("uniform", START)
    x = net.embedding("embedding", token, p.vocabulary, p.width, start)
    position = net.constant("position", (p.length, p.width), Distribution("sinusoidal", MAX_WAVE))
    x = net.add(net.affine(x, alpha=math.sqrt(p.width)), position)
    x = dropout(net, to_rows(net, x), p.dropout)
    layer = Transformer(
        heads=p.heads,
        feed_forward=4 * p.width,
        activation="relu",
        start=inverse_sqrt_uniform(p.width),
        dropout=p.dropout,
        inner_dropout=p.dropout,
    )
    for i in range(1, p.layers + 1):
        x = encoder_layer(net, f"layer{i}", x, layer, is_causal=not p.bidirectional)
    scores = net.dense("decoder", x, p.vocabulary, start=start)
    net.output(to_samples(net, scores))
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(label, shape=(-1,))))


def benchmarker_problem() -> Problem:
    return Problem(
        name="bert_custom",
        task="language modelling",
        source="Vaswani et al. 2017, arXiv 1706.03762, section 3.1; sizes: undertherain/benchmarker, bert_custom",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.1),
        batch_size=8,
        published=(
            Published(4_177_384, 969_932_800),
            Published(86_591_464, 22_543_859_712, {"layers": 12, "width": 768}),
        ),
        reduced={"length": 9, "layers": 2, "width": 24, "heads": 3, "vocabulary": 50},
    )
