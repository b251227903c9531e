"""GPT-2, the small one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import (
    Transformer,
    dropout,
    first_rows,
    pre_norm_layer,
    to_rows,
    to_samples,
)

DEVIATION = 0.02


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``dropout`` is the ratio after the embedding and of residual branches."""

    length: int = 1024
    layers: int = 12
    width: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 50257
    positions: int = 1024
    dropout: float = 0.1


def build(net: Network, p: Parameters) -> None:
    start = Distribution("normal", DEVIATION)
    kind = Distribution("integers", p.vocabulary)
    token = net.input("token", (p.length,), "int64", kind)
    label = net.input("label", (p.length,), "int64", kind)
    table = net.parameter("embedding.token.weight", (p.vocabulary, p.width), start)
    position = net.parameter("embedding.position.weight", (p.positions, p.width), start)
    x = net.add(net.named("embedding.token").gather(table, token), first_rows(net, position, p.length))
    x = dropout(net, to_rows(net, x), p.dropout)
    layer = Transformer(
        heads=p.heads,
        feed_forward=p.feed_forward,
        activation="gelu_tanh",
        start=start,
        residual_start=Distribution("normal", DEVIATION / math.sqrt(2 * p.layers)),
        dropout=p.dropout,
    )
    for i in range(1, p.layers + 1):
        x = pre_norm_layer(net, f"layer{i}", x, layer, is_causal=True)
    scores = net.named("head").gemm(net.layer_norm("norm", x), table, trans_b=True)
    net.output(to_samples(net, scores))
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(label, shape=(-1,))))


def benchmarker_problem() -> Problem:
    return Problem(
        name="gpt2",
        task="language modelling",
        source="Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3, table 2",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adamw", learning_rate=2.5e-4, weight_decay=0.01),
        batch_size=1,
        published=(
            Published(124_439_808, 291_648_307_200),
            Published(124_439_808, 32_228_179_968, {"length": 128}),
        ),
        reduced={
            "length": 10,
            "layers": 2,
            "width": 24,
            "heads": 3,
            "feed_forward": 48,
            "vocabulary": 50,
            "positions": 12,
        },
    )
