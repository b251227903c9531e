"""BERT and what became of it: an encoder of tokens, and heads for it (Devlin et al. 2018, arXiv 1810.04805)."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.rules import Whole
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import (
    Transformer,
    dropout,
    encoder_layer,
    first_rows,
    to_rows,
    to_samples,
)
from benchmarker.quick_dataclass import dataclass

Length = Annotated[int, Whole(1, 2**20)]
"""A parameter that is the tokens of a sample, whose segments are listed one by one."""
START = Distribution("normal", 0.02)
"""Start of weights (the program that came with the paper, ``initializer_range``)."""
MASKED = 0.15
"""Share of the tokens that are to be predicted (section 3.1, task 1)."""
IGNORED = -100
"""Label of the others."""


@dataclass(frozen=True)
class Encoder:
    """Sizes of the encoder.

    Parameters
    ----------
    length, vocabulary : int
        Tokens of a sample, and of the vocabulary.
    layers, width, heads, feed_forward : int
        Of the transformer.
    positions, offset : int
        Rows of the table of positions, and the row of the first token.
    segments : int
        Segments that are told apart; with 1 all tokens have the same.
    dropout : float
        Ratio after the embedding and at the end of every residual branch.
    epsilon : float
        Of layer normalization.
    """

    length: int
    vocabulary: int
    layers: int
    width: int
    heads: int
    feed_forward: int
    positions: int
    dropout: float
    offset: int = 0
    segments: int = 2
    epsilon: float = 1e-12


def _segments(net: Network, sizes: Encoder) -> Value:
    """Embed two sentences of the same length, or the one segment that there is."""
    if sizes.segments == 1:
        return net.parameter("embedding.segment.weight", (1, sizes.width), START)
    first = sizes.length // 2
    second = sizes.length - first
    halves = Distribution("values", values=(0.0,) * first + (1.0,) * second)
    segment = net.input("segment", (sizes.length,), "int64", halves)
    return net.embedding("embedding.segment", segment, sizes.segments, sizes.width, START)


def encode(net: Network, sizes: Encoder) -> tuple[Value, Value]:
    """Add embeddings and layers.

    Returns
    -------
    x : Value
        Rows ``(N * length, width)``.
    table : Value
        The embedding of the tokens, ``(vocabulary, width)``.
    """
    kind = Distribution("integers", sizes.vocabulary)
    token = net.input("token", (sizes.length,), "int64", kind)
    table = net.parameter("embedding.token.weight", (sizes.vocabulary, sizes.width), START)
    position = net.parameter("embedding.position.weight", (sizes.positions, sizes.width), START)
    x = net.add(net.named("embedding.token").gather(table, token), _segments(net, sizes))
    x = to_rows(net, net.add(x, first_rows(net, position, sizes.length, offset=sizes.offset)))
    x = dropout(net, net.layer_norm("embedding.norm", x, epsilon=sizes.epsilon), sizes.dropout)
    layer = Transformer(
        heads=sizes.heads,
        feed_forward=sizes.feed_forward,
        activation="gelu",
        start=START,
        dropout=sizes.dropout,
        epsilon=sizes.epsilon,
    )
    for i in range(1, sizes.layers + 1):
        x = encoder_layer(net, f"layer{i}", x, layer)
    return x, table


def masked_language_model(net: Network, x: Value, table: Value, epsilon: float) -> None:
    """Predict tokens by the embedding's own table; the loss counts :data:`MASKED` of them."""
    vocabulary, width = table.shape
    length = x.shape[0] // net.batch_size
    kind = Distribution("integers", vocabulary, probability=MASKED, otherwise=float(IGNORED))
    label = net.input("label", (length,), "int64", kind)
    x = net.gelu(net.dense("head.dense", x, width, start=START))
    x = net.layer_norm("head.norm", x, epsilon=epsilon)
    bias = net.parameter("head.decoder.bias", (vocabulary,), ZEROS)
    scores = net.named("head.decoder").gemm(x, table, bias, trans_b=True)
    net.output(to_samples(net, scores))
    labels = net.reshape(label, shape=(-1,))
    net.loss(net.softmax_cross_entropy_loss(scores, labels, ignore_index=IGNORED), over="masked words")


def pooled(net: Network, x: Value) -> Value:
    """A layer and tanh over the first token: ``(N, width)``."""
    first = net.slice(to_samples(net, x), axes=(1,), starts=(0,), ends=(1,))
    first = net.reshape(first, shape=(0, -1))
    result: Value = net.tanh(net.dense("pooler", first, x.shape[-1], start=START))
    return result


def pooler(net: Network, x: Value) -> None:
    """Return the pooled first token; in training its loss is the mean of its square, as of an operator."""
    y = pooled(net, x)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def classification(net: Network, x: Value, classes: int, ratio: float) -> None:
    """Classify the pooled first token (section 4.1)."""
    label = net.labels("label", classes)
    scores = net.dense("head.classifier", dropout(net, pooled(net, x), ratio), classes, start=START)
    net.output(scores)
    net.loss(net.softmax_cross_entropy_loss(scores, label))
