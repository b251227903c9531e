"""The transformer for translation, base size."""

from __future__ import annotations

import math

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import (
    Transformer,
    decoder_layer,
    dropout,
    encoder_layer,
    first_rows,
    to_rows,
    to_samples,
)
from benchmarker.quick_dataclass import dataclass

MAX_WAVE = 10000.0


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network; ``layers`` of the encoder and again of the decoder."""

    source_length: int = 64
    target_length: int = 64
    layers: int = 6
    width: int = 512
    heads: int = 8
    feed_forward: int = 2048
    vocabulary: int = 37000
    dropout: float = 0.1
    label_smoothing: float = 0.1


def smoothed_loss(net: Network, scores: Value, label: Value, smoothing: float) -> Value:
    """Cross-entropy whose targets leave a share to all classes evenly (Szegedy et al. 2015, section 7).

    With a share ``s`` and scores ``z`` it is that of the labels plus ``s (z[label] - mean(z))``: one
    softmax, and no sum of as many equal gradients as there are words, which float32 rounds off.
    """
    labels = net.reshape(label, shape=(-1,))
    loss = net.softmax_cross_entropy_loss(scores, labels)
    picked = net.gather_elements(scores, net.reshape(label, shape=(-1, 1)), axis=-1)
    above = net.sub(net.reduce_mean(picked), net.reduce_mean(scores))
    result: Value = net.add(loss, net.affine(above, alpha=smoothing))
    return result


def build(net: Network, p: Parameters) -> None:
    """Add the network to ``net``; one table embeds source and target and scores the output."""
    if not 0.0 <= p.label_smoothing < 1.0:
        raise UsageError(f"'label_smoothing' must be at least 0 and below 1, got {p.label_smoothing}")
    kind = Distribution("integers", p.vocabulary)
    source = net.input("source", (p.source_length,), "int64", kind)
    target = net.input("target", (p.target_length,), "int64", kind)
    label = net.input("label", (p.target_length,), "int64", kind)
    start = Distribution("normal", 1.0 / math.sqrt(p.width))
    table = net.parameter("embedding.weight", (p.vocabulary, p.width), start)
    longest = max(p.source_length, p.target_length)
    positions = net.constant("position", (longest, p.width), Distribution("sinusoidal", MAX_WAVE))

    def embedded(name: str, tokens: Value) -> Value:
        x = net.affine(net.named(name).gather(table, tokens), alpha=math.sqrt(p.width))
        x = net.add(x, first_rows(net, positions, tokens.shape[1]))
        return dropout(net, to_rows(net, x), p.dropout)

    layer = Transformer(p.heads, p.feed_forward, "relu", start=start, dropout=p.dropout)
    memory = embedded("embedding.source", source)
    for i in range(1, p.layers + 1):
        memory = encoder_layer(net, f"encoder{i}", memory, layer)
    x = embedded("embedding.target", target)
    for i in range(1, p.layers + 1):
        x = decoder_layer(net, f"decoder{i}", x, memory, layer)
    scores = net.named("head").gemm(x, table, trans_b=True)
    net.output(to_samples(net, scores))
    net.loss(smoothed_loss(net, scores, label, p.label_smoothing))


def benchmarker_problem() -> Problem:
    return Problem(
        name="transformer_base",
        task="translation",
        source="Vaswani et al. 2017, arXiv 1706.03762, section 3 and table 3 (base)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=7e-4, beta2=0.98, epsilon=1e-9),
        batch_size=8,
        published=(
            Published(63_082_496, 8_212_971_520),
            Published(63_082_496, 16_727_932_928, {"source_length": 128, "target_length": 128}),
        ),
        reduced={
            "source_length": 7,
            "target_length": 6,
            "layers": 2,
            "width": 24,
            "heads": 3,
            "feed_forward": 48,
            "vocabulary": 50,
        },
    )
