"""Fully connected layers that start as Glorot & Bengio 2010 (AISTATS, equation 16) propose."""

from __future__ import annotations

import math

from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.layers.checks import require_positive


def _fan(name: str, x: Value, units: int) -> int:
    require_positive(**{f"units of {name}": units})
    return x.shape[-1] + units


def glorot_dense(net: Network, name: str, x: Value, units: int, *, bias: bool = True) -> Value:
    """Fully connected layer whose weight starts uniform in ``±sqrt(6 / (inputs + outputs))``."""
    start = Distribution("uniform", math.sqrt(6.0 / _fan(name, x, units)))
    return net.dense(name, x, units, bias=bias, start=start)


def glorot_normal_dense(net: Network, name: str, x: Value, units: int) -> Value:
    """Fully connected layer whose weight starts normal with variance ``2 / (inputs + outputs)``."""
    start = Distribution("normal", math.sqrt(2.0 / _fan(name, x, units)))
    return net.dense(name, x, units, start=start)
