"""LLaMA, by default as small as its program without arguments."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarker.api.framework import MODES
from benchmarker.api.generation import STEP, Stage
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import merge_heads, split_heads, to_rows, to_samples
from benchmarker.problems.layers.decoding import Decoding
from benchmarker.problems.layers.sizes import quotient
from benchmarker.quick_dataclass import dataclass

START = Distribution("normal", 0.02)
EPSILON = 1e-5
ROTARY_BASE = 10000.0

TINY = {
    "length": 256,
    "layers": 6,
    "width": 288,
    "heads": 6,
    "kv_heads": 6,
    "feed_forward": 768,
    "tied": True,
}
"""stories15M of karpathy/llama2.c."""
ONE_BILLION = {
    "length": 2048,
    "layers": 22,
    "width": 2048,
    "heads": 32,
    "kv_heads": 4,
    "feed_forward": 5632,
}
"""TinyLlama-1.1B."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of the network.

    ``heads / kv_heads`` heads share their keys and values; ``tied`` scores by the embedding's own table.
    """

    length: int = 512
    layers: int = 8
    width: int = 512
    heads: int = 8
    kv_heads: int = 8
    feed_forward: int = 1536
    vocabulary: int = 32000
    tied: bool = False


def rms_norm(net: Network, name: str, x: Value) -> Value:
    """RMS normalization with its scale."""
    scale = net.parameter(f"{name}.weight", x.shape[-1:], ONES)
    result: Value = net.named(name).rms_normalization(x, scale, epsilon=EPSILON)
    return result


def shared_by_heads(net: Network, x: Value, heads: int) -> Value:
    """``(N, kv_heads, length, features)`` to ``(N, heads, length, features)``, each repeated in place."""
    batch, kv_heads, length, features = x.shape
    group = quotient("heads", heads, "kv_heads", kv_heads)
    if group == 1:
        return x
    x = net.reshape(x, shape=(batch, kv_heads, 1, length, features))
    x = net.expand(x, shape=(batch, kv_heads, group, length, features))
    result: Value = net.reshape(x, shape=(batch, heads, length, features))
    return result


Rotate = Callable[[Value], Value]
"""Rotates ``(N, heads, length, features)`` by the positions."""
Attend = Callable[[str, Value, Value, Value, float], Value]
"""Causal attention of a layer, by its name, with a scale of its scores.

Queries and keys are split by heads, values are rows; keys and values are not yet repeated.
"""


def attention(net: Network, name: str, x: Value, p: Parameters, rotate: Rotate, attend: Attend) -> Value:
    """Causal self-attention with rotated queries and keys."""
    features = _features(p)
    q = net.dense(f"{name}.query", x, p.width, bias=False, start=START)
    k = net.dense(f"{name}.key", x, p.kv_heads * features, bias=False, start=START)
    v = net.dense(f"{name}.value", x, p.kv_heads * features, bias=False, start=START)
    q = rotate(split_heads(net, q, p.heads))
    k = rotate(split_heads(net, k, p.kv_heads))
    y = attend(name, q, k, v, 1.0 / math.sqrt(features))
    return net.dense(f"{name}.output", merge_heads(net, y), p.width, bias=False, start=START)


def feed_forward(net: Network, name: str, x: Value, hidden: int) -> Value:
    """SwiGLU (Shazeer 2020, arXiv 2002.05202, equation 6)."""
    gate = net.silu(net.dense(f"{name}.gate", x, hidden, bias=False, start=START))
    y = net.mul(gate, net.dense(f"{name}.up", x, hidden, bias=False, start=START))
    return net.dense(f"{name}.down", y, x.shape[-1], bias=False, start=START)


def _features(p: Parameters) -> int:
    """Return the features of a head, an even number."""
    features = quotient("width", p.width, "heads", p.heads)
    if features % 2:
        raise UsageError(f"'width' / 'heads' must be even, for pairs to rotate, got {p.width} / {p.heads}")
    return features


def build(net: Network, p: Parameters) -> None:
    _features(p)
    kind = Distribution("integers", p.vocabulary)
    token = net.input("token", (p.length,), "int64", kind)
    label = net.input("label", (p.length,), "int64", kind)

    def turned(cosine: Value, sine: Value) -> Rotate:
        return lambda x: net.rotary_embedding(x, cosine, sine)

    def attend(name: str, q: Value, k: Value, v: Value, scale: float) -> Value:
        k = shared_by_heads(net, k, p.heads)
        v = shared_by_heads(net, split_heads(net, v, p.kv_heads), p.heads)
        result: Value = net.attention(q, k, v, scale=scale, is_causal=True)
        return result

    x, head = _scored(net, p, token, p.length, turned, attend)
    scores = net.named("head").gemm(x, head, trans_b=True)
    net.output(to_samples(net, scores))
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(label, shape=(-1,))))


def decode(net: Network, p: Parameters, stage: Stage) -> None:
    """Build a graph of a generation."""
    decoding = Decoding(net, stage, p.vocabulary)

    def turned(cosine: Value, sine: Value) -> Rotate:
        cosine, sine = decoding.rows(cosine), decoding.rows(sine)
        if stage.kind != STEP:
            return lambda x: net.rotary_embedding(x, cosine, sine)
        # The operator has one table for all samples.
        cosine, sine = (net.reshape(part, shape=(net.batch_size, 1, 1, -1)) for part in (cosine, sine))

        def rotate(x: Value) -> Value:
            first, second = net.split(x, axis=-1, num_outputs=2)
            real = net.sub(net.mul(first, cosine), net.mul(second, sine))
            result: Value = net.concat(real, net.add(net.mul(first, sine), net.mul(second, cosine)), axis=-1)
            return result

        return rotate

    def attend(name: str, q: Value, k: Value, v: Value, scale: float) -> Value:
        v = split_heads(net, v, p.kv_heads)
        return decoding.attention(name, q, k, v, scale, lambda x: shared_by_heads(net, x, p.heads))

    decoding.close(*_scored(net, p, decoding.token, stage.capacity, turned, attend))


def _scored(
    net: Network,
    p: Parameters,
    token: Value,
    positions: int,
    turned: Callable[[Value, Value], Rotate],
    attend: Attend,
) -> tuple[Value, Value]:
    """Return what is scored, in rows, and the table that scores it.

    Parameters
    ----------
    net, p
        The network and its sizes.
    token : Value
        ``(N, length)``.
    positions : int
        Of the tables of sines and cosines.
    turned : callable
        Makes of these what rotates.
    attend : callable
        Attention of a layer.
    """
    table = net.parameter("embedding.weight", (p.vocabulary, p.width), START)
    rotate = turned(
        *(
            net.constant(
                f"rotary.{part}",
                (positions, _features(p) // 2),
                Distribution(f"rotary_{part}", ROTARY_BASE),
            )
            for part in ("cosine", "sine")
        )
    )
    x = to_rows(net, net.named("embedding").gather(table, token))
    for i in range(1, p.layers + 1):
        normal = rms_norm(net, f"layer{i}.norm1", x)
        x = net.add(x, attention(net, f"layer{i}.attention", normal, p, rotate, attend))
        y = feed_forward(net, f"layer{i}.mlp", rms_norm(net, f"layer{i}.norm2", x), p.feed_forward)
        x = net.add(x, y)
    x = rms_norm(net, "norm", x)
    return x, table if p.tied else net.parameter("head.weight", (p.vocabulary, p.width), START)


def benchmarker_problem() -> Problem:
    return Problem(
        name="llama",
        task="language modelling",
        source="Touvron et al. 2023, arXiv 2302.13971, section 2.2; sizes: defaults of meta-llama/llama, model.py",
        parameters=Parameters,
        build=build,
        decode=decode,
        modes=MODES,
        optimizer=Optimizer("adamw", learning_rate=3e-4, beta2=0.95, weight_decay=0.1),
        batch_size=2,
        published=(
            Published(60_039_680, 48_989_470_720),
            Published(60_039_680, 23_420_993_536, {"length": 256}),
            Published(60_039_680, 106_568_876_032, {"length": 1024}),
            Published(15_191_712, 8_229_224_448, TINY),
            Published(1_100_048_384, 4_992_899_481_600, ONE_BILLION),
        ),
        reduced={
            "length": 10,
            "layers": 2,
            "width": 32,
            "heads": 4,
            "kv_heads": 2,
            "feed_forward": 48,
            "vocabulary": 50,
        },
    )
