"""GPT-2, the small one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from benchmarker.api.framework import MODES
from benchmarker.api.generation import Stage
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import (
    Attention,
    Transformer,
    attend,
    dropout,
    first_rows,
    merge_heads,
    pre_norm_layer,
    split_heads,
    to_rows,
    to_samples,
)
from benchmarker.problems.layers.decoding import Decoding
from benchmarker.problems.layers.sizes import quotient
from benchmarker.quick_dataclass import dataclass

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
    kind = Distribution("integers", p.vocabulary)
    token = net.input("token", (p.length,), "int64", kind)
    label = net.input("label", (p.length,), "int64", kind)

    def attention(name: str, q: Value, k: Value, v: Value) -> Value:
        return attend(net, q, k, v, p.heads, is_causal=True)

    x, table = _features(net, p, token, lambda position: first_rows(net, position, p.length), attention)
    scores = net.named("head").gemm(x, table, trans_b=True)
    net.output(to_samples(net, scores))
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(label, shape=(-1,))))


def decode(net: Network, p: Parameters, stage: Stage) -> None:
    """Build a graph of a generation."""
    decoding = Decoding(net, stage, p.vocabulary)
    scale = 1.0 / math.sqrt(quotient("width", p.width, "heads", p.heads))

    def attention(name: str, q: Value, k: Value, v: Value) -> Value:
        q, k, v = (split_heads(net, each, p.heads) for each in (q, k, v))
        return merge_heads(net, decoding.attention(name, q, k, v, scale))

    decoding.close(*_features(net, replace(p, dropout=0.0), decoding.token, decoding.rows, attention))


def _features(
    net: Network, p: Parameters, token: Value, rows: Callable[[Value], Value], attention: Attention
) -> tuple[Value, Value]:
    """Return what is scored, in rows, and the table of the tokens that scores it.

    Parameters
    ----------
    net, p
        The network and its sizes.
    token : Value
        ``(N, length)``.
    rows : callable
        Takes the rows of the tokens' positions out of their table.
    attention : callable
        Of rows of queries to rows of keys and values.
    """
    start = Distribution("normal", DEVIATION)
    table = net.parameter("embedding.token.weight", (p.vocabulary, p.width), start)
    position = net.parameter("embedding.position.weight", (p.positions, p.width), start)
    x = net.add(net.named("embedding.token").gather(table, token), rows(position))
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
        x = pre_norm_layer(net, f"layer{i}", x, layer, attention)
    return net.layer_norm("norm", x), table


def benchmarker_problem() -> Problem:
    return Problem(
        name="gpt2",
        task="language modelling",
        source="Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3, table 2",
        parameters=Parameters,
        build=build,
        decode=decode,
        modes=MODES,
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
