"""Networks of 3x3 convolutions (Simonyan & Zisserman 2014, arXiv 1409.1556)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value


def group(net: Network, number: int, x: Value, convolutions: int, filters: int) -> Value:
    """3x3 convolutions of one size, each with a rectifier."""
    for layer in range(1, convolutions + 1):
        x = net.relu(net.convolution(f"conv{number}_{layer}", x, filters, 3, pad=1))
    return x


def features(net: Network, x: Value, groups: Sequence[tuple[int, int]]) -> Value:
    """Groups of ``(convolutions, filters)``, each followed by 2x2 pooling."""
    for number, (convolutions, filters) in enumerate(groups, start=1):
        x = net.pool(group(net, number, x, convolutions, filters), 2)
    return x


def classifier(net: Network, x: Value, hidden: int, classes: int, dropout: float) -> Value:
    """Three fully connected layers, dropout after the first two."""
    x = net.flatten(x)
    for name in ("fc6", "fc7"):
        x = net.dropout(net.relu(net.dense(name, x, hidden)), ratio=dropout)
    return net.dense("fc8", x, classes)
