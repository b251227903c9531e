"""LLaMA, by default as small as its program without arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import ONES
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.attention import merge_heads, split_heads, to_rows, to_samples
from benchmarker.problems.layers.sizes import quotient

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


def attention(net: Network, name: str, x: Value, p: Parameters, cosine: Value, sine: Value) -> Value:
    """Causal self-attention with rotated queries and keys."""
    features = 2 * cosine.shape[-1]
    q = net.dense(f"{name}.query", x, p.width, bias=False, start=START)
    k = net.dense(f"{name}.key", x, p.kv_heads * features, bias=False, start=START)
    v = net.dense(f"{name}.value", x, p.kv_heads * features, bias=False, start=START)
    q = net.rotary_embedding(split_heads(net, q, p.heads), cosine, sine)
    k = net.rotary_embedding(split_heads(net, k, p.kv_heads), cosine, sine)
    k = shared_by_heads(net, k, p.heads)
    v = shared_by_heads(net, split_heads(net, v, p.kv_heads), p.heads)
    y = merge_heads(net, net.attention(q, k, v, scale=1.0 / math.sqrt(features), is_causal=True))
    return net.dense(f"{name}.output", y, p.width, bias=False, start=START)


def feed_forward(net: Network, name: str, x: Value, hidden: int) -> Value:
    """SwiGLU (Shazeer 2020, arXiv 2002.05202, equation 6)."""
    gate = net.silu(net.dense(f"{name}.gate", x, hidden, bias=False, start=START))
    y = net.mul(gate, net.dense(f"{name}.up", x, hidden, bias=False, start=START))
    return net.dense(f"{name}.down", y, x.shape[-1], bias=False, start=START)


def build(net: Network, p: Parameters) -> None:
    features = quotient("width", p.width, "heads", p.heads)
    if features % 2:
        raise UsageError(f"'width' / 'heads' must be even, for pairs to rotate, got {p.width} / {p.heads}")
    kind = Distribution("integers", p.vocabulary)
    token = net.input("token", (p.length,), "int64", kind)
    label = net.input("label", (p.length,), "int64", kind)
    table = net.parameter("embedding.weight", (p.vocabulary, p.width), START)
    cosine, sine = (
        net.constant(f"rotary.{part}", (p.length, features // 2), Distribution(f"rotary_{part}", ROTARY_BASE))
        for part in ("cosine", "sine")
    )
    x = to_rows(net, net.named("embedding").gather(table, token))
    for i in range(1, p.layers + 1):
        y = attention(net, f"layer{i}.attention", rms_norm(net, f"layer{i}.norm1", x), p, cosine, sine)
        x = net.add(x, y)
        y = feed_forward(net, f"layer{i}.mlp", rms_norm(net, f"layer{i}.norm2", x), p.feed_forward)
        x = net.add(x, y)
    x = rms_norm(net, "norm", x)
    head = table if p.tied else net.parameter("head.weight", (p.vocabulary, p.width), START)
    scores = net.named("head").gemm(x, head, trans_b=True)
    net.output(to_samples(net, scores))
    net.loss(net.softmax_cross_entropy_loss(scores, net.reshape(label, shape=(-1,))))


def benchmarker_problem() -> Problem:
    return Problem(
        name="llama",
        task="language modelling",
        source="Touvron et al. 2023, arXiv 2302.13971, section 2.2; sizes: defaults of meta-llama/llama, model.py",
        parameters=Parameters,
        build=build,
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
