"""Whether MXNet joins operators while a symbol is bound."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

_KEEPING = frozenset({"FullyConnected", "Convolution", "BatchNorm"})
"""Operators that fusion joins, and which then keep the weights of the first step in a layout of their own."""


@contextmanager
def fusion(enabled: bool) -> Iterator[None]:
    """Keep MXNet from fusing operators while a symbol is bound, unless ``enabled``."""
    name = "MXNET_SUBGRAPH_BACKEND"
    before = os.environ.get(name)
    if not enabled:
        os.environ[name] = "NONE"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def would_keep(symbol: Any, inputs: Container[str]) -> bool:
    """Tell whether a fused operator would keep a weight that another mini-batch changes.

    Parameters
    ----------
    symbol : mx.sym.Symbol
        What is to be bound.
    inputs : container of str
        Its arguments that a mini-batch fills.
    """
    changing: set[int] = set()
    for number, node in enumerate(json.loads(symbol.tojson())["nodes"]):
        changes = [source in changing for source, *_ in node["inputs"]]
        if node["op"] in _KEEPING and any(changes[1:]):
            return True
        if any(changes) or (node["op"] == "null" and node["name"] in inputs):
            changing.add(number)
    return False
