"""Fully connected layers that start as Glorot & Bengio 2010 (AISTATS, section 4.2.1) propose."""

from __future__ import annotations

from benchmarker.graph.initializers import glorot_normal, glorot_uniform
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value


def glorot_dense(net: Network, name: str, x: Value, units: int, *, bias: bool = True) -> Value:
    """Fully connected layer whose weight starts uniform."""
    return net.dense(name, x, units, bias=bias, start=glorot_uniform(x.shape[-1], units))


def glorot_normal_dense(net: Network, name: str, x: Value, units: int) -> Value:
    """Fully connected layer whose weight starts normal."""
    return net.dense(name, x, units, start=glorot_normal(x.shape[-1], units))
