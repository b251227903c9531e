"""Tensors that know how their axes stand, and the layouts in which TensorFlow wants inputs and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.graph.types import Node
from benchmarker.layouts import Layout, permuted, plain

Order = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor or variable whose axis ``i`` is the graph's axis ``order[i]``."""

    value: Any
    order: Order

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape as the graph has it."""
        sizes = self.value.shape
        return tuple(int(sizes[self.order.index(axis)]) for axis in range(len(self.order)))


@dataclass(frozen=True)
class OrderedLayout(Layout):
    """A weight layout that permutes the axes by ``order``."""

    order: Order = ()


def ordered(order: Order) -> OrderedLayout:
    """Return the layout ``native = array.transpose(order)``."""
    layout = permuted(order)
    return OrderedLayout(layout.name, layout.encode, layout.decode, order)


def graph_order(rank: int) -> Order:
    """Return the order of a tensor that stands as in the graph."""
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """Return the order of ``N spatial... C``."""
    return (0, *range(2, rank), 1)


def filter_order(rank: int) -> Order:
    """Return the order of a filter that stands ``spatial... in out``."""
    return (*range(2, rank), 1, 0)


RECURRENT_ORDER: Order = (0, 2, 1)
"""Weights of a recurrent layer stand ``1 in gates``."""

LAYOUTS: Mapping[tuple[str, int], Callable[[Node], Layout]] = {
    ("conv", 1): lambda node: ordered(filter_order(len(node.attributes["strides"]) + 2)),
    ("gemm", 1): lambda node: ordered((1, 0)) if node.attributes["trans_b"] else plain(),
    ("lstm", 1): lambda node: ordered(RECURRENT_ORDER),
    ("lstm", 2): lambda node: ordered(RECURRENT_ORDER),
}

_SPATIAL = ("conv", "max_pool", "average_pool", "global_average_pool", "batch_normalization")


def input_order(rank: int, users: Sequence[Node]) -> Order:
    """Return the order in which an input of the graph is loaded: channels last where images are used."""
    spatial = rank >= 3 and any(node.operator in _SPATIAL for node in users)
    return channels_last(rank) if spatial else graph_order(rank)
