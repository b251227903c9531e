"""Multi-head attention and the layers of transformers (Vaswani et al. 2017, arXiv 1706.03762, section 3).

Activations are rows: ``(N * length, width)``, one sample's positions after another's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.sizes import quotient
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Transformer:
    """What the layers of one transformer have in common.

    Parameters
    ----------
    heads : int
        Heads of an attention, a divisor of the width.
    feed_forward : int
        Width between the two fully connected layers.
    activation : {"relu", "gelu", "gelu_tanh"}
        Between them.
    start : Distribution
        Start of weights; biases start at 0.
    residual_start : Distribution or None
        Start of the weights that close a residual branch, if it is another.
    dropout : float
        Ratio at the end of every residual branch.
    inner_dropout : float
        Ratio after the activation.
    epsilon : float
        Of layer normalization.
    """

    heads: int
    feed_forward: int
    activation: str
    start: Distribution
    residual_start: Distribution | None = None
    dropout: float = 0.0
    inner_dropout: float = 0.0
    epsilon: float = 1e-5

    @property
    def closing_start(self) -> Distribution:
        """Start of the weights that close a residual branch."""
        return self.residual_start or self.start


def dropout(net: Network, x: Value, ratio: float) -> Value:
    """Dropout; nothing at all for a ratio of 0."""
    result: Value = x if ratio == 0.0 else net.dropout(x, ratio=ratio)
    return result


def first_rows(net: Network, table: Value, count: int, *, offset: int = 0) -> Value:
    """Take ``count`` rows of a table of positions, from row ``offset``.

    Raises
    ------
    UsageError
        If the table is too short.
    """
    rows = table.shape[0]
    if offset + count > rows:
        raise UsageError(
            f"a sequence of {count} needs as many positions, and '{table.name}' has {rows - offset}; "
            "take a shorter sequence or more positions"
        )
    if count == rows:
        return table
    result: Value = net.slice(table, axes=(0,), starts=(offset,), ends=(offset + count,))
    return result


def to_rows(net: Network, x: Value) -> Value:
    """``(N, length, width)`` to ``(N * length, width)``."""
    result: Value = net.reshape(x, shape=(-1, x.shape[-1]))
    return result


def to_samples(net: Network, x: Value) -> Value:
    """``(N * length, width)`` to ``(N, length, width)``."""
    result: Value = net.reshape(x, shape=(net.batch_size, -1, x.shape[-1]))
    return result


def split_heads(net: Network, x: Value, heads: int) -> Value:
    """``(N * length, width)`` to ``(N, heads, length, width / heads)``."""
    features = quotient("width", x.shape[-1], "heads", heads)
    x = net.reshape(x, shape=(net.batch_size, -1, heads, features))
    result: Value = net.transpose(x, perm=(0, 2, 1, 3))
    return result


def merge_heads(net: Network, x: Value) -> Value:
    """``(N, heads, length, features)`` to ``(N * length, heads * features)``."""
    _, heads, _, features = x.shape
    result: Value = net.reshape(net.transpose(x, perm=(0, 2, 1, 3)), shape=(-1, heads * features))
    return result


def attend(net: Network, q: Value, k: Value, v: Value, heads: int, *, is_causal: bool = False) -> Value:
    """Attention of rows of queries to rows of keys and values, head by head."""
    queries, keys, values = (split_heads(net, x, heads) for x in (q, k, v))
    scale = 1.0 / math.sqrt(queries.shape[-1])
    return merge_heads(net, net.attention(queries, keys, values, scale=scale, is_causal=is_causal))


def multi_head_attention(
    net: Network, name: str, x: Value, memory: Value, t: Transformer, *, is_causal: bool = False
) -> Value:
    """Attention of ``x`` to ``memory`` with a layer each for queries, keys and values (section 3.2.2)."""
    width = x.shape[-1]
    q = net.dense(f"{name}.query", x, width, start=t.start)
    k = net.dense(f"{name}.key", memory, width, start=t.start)
    v = net.dense(f"{name}.value", memory, width, start=t.start)
    y = attend(net, q, k, v, t.heads, is_causal=is_causal)
    return net.dense(f"{name}.output", y, width, start=t.closing_start)


Attention = Callable[[str, Value, Value, Value], Value]
"""Attention of a layer, by its name, of rows of queries to rows of keys and values."""


def packed_self_attention(
    net: Network,
    name: str,
    x: Value,
    t: Transformer,
    *,
    is_causal: bool = False,
    attention: Attention | None = None,
) -> Value:
    """Self-attention whose queries, keys and values come from one layer; ``attention`` in place of the usual one."""
    width = x.shape[-1]
    packed = net.dense(f"{name}.qkv", x, 3 * width, start=t.start)
    q, k, v = net.split(packed, axis=-1, num_outputs=3)
    y = attention(name, q, k, v) if attention else attend(net, q, k, v, t.heads, is_causal=is_causal)
    return net.dense(f"{name}.output", y, width, start=t.closing_start)


def activation(net: Network, x: Value, kind: str) -> Value:
    """The activation between two fully connected layers."""
    if kind == "relu":
        result: Value = net.relu(x)
    else:
        result = net.gelu(x, approximate="tanh" if kind == "gelu_tanh" else "none")
    return result


def feed_forward(net: Network, name: str, x: Value, t: Transformer) -> Value:
    """Two fully connected layers (section 3.3)."""
    y = activation(net, net.dense(f"{name}.fc1", x, t.feed_forward, start=t.start), t.activation)
    y = dropout(net, y, t.inner_dropout)
    return net.dense(f"{name}.fc2", y, x.shape[-1], start=t.closing_start)


def pre_norm_layer(
    net: Network, name: str, x: Value, t: Transformer, attention: Attention | None = None
) -> Value:
    """Self-attention and feed-forward, each normalized at its beginning."""
    y = net.layer_norm(f"{name}.norm1", x, epsilon=t.epsilon)
    y = packed_self_attention(net, f"{name}.attention", y, t, attention=attention)
    x = net.add(x, dropout(net, y, t.dropout))
    y = feed_forward(net, f"{name}.mlp", net.layer_norm(f"{name}.norm2", x, epsilon=t.epsilon), t)
    result: Value = net.add(x, dropout(net, y, t.dropout))
    return result


def _close(net: Network, name: str, x: Value, y: Value, t: Transformer) -> Value:
    return net.layer_norm(name, net.add(x, dropout(net, y, t.dropout)), epsilon=t.epsilon)


def encoder_layer(net: Network, name: str, x: Value, t: Transformer, *, is_causal: bool = False) -> Value:
    """Self-attention and feed-forward, each normalized at its end (section 3.1)."""
    y = multi_head_attention(net, f"{name}.attention", x, x, t, is_causal=is_causal)
    x = _close(net, f"{name}.norm1", x, y, t)
    return _close(net, f"{name}.norm2", x, feed_forward(net, f"{name}.mlp", x, t), t)


def decoder_layer(net: Network, name: str, x: Value, memory: Value, t: Transformer) -> Value:
    """Causal self-attention, attention to the encoder's ``memory``, feed-forward (section 3.1)."""
    y = multi_head_attention(net, f"{name}.attention", x, x, t, is_causal=True)
    x = _close(net, f"{name}.norm1", x, y, t)
    y = multi_head_attention(net, f"{name}.cross_attention", x, memory, t)
    x = _close(net, f"{name}.norm2", x, y, t)
    return _close(net, f"{name}.norm3", x, feed_forward(net, f"{name}.mlp", x, t), t)
