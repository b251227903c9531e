"""The layouts in which TensorFlow wants inputs and weights, decided from how the graph uses them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.layouts import Layout, permuted, plain
from benchmarker.plugins.tensorflow.tensors import (
    Columns,
    Order,
    Tensor,
    channels_last,
    filter_order,
    graph_order,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SPATIAL = frozenset(
    {
        "average_pool",
        "conv",
        "conv_transpose",
        "global_average_pool",
        "group_normalization",
        "max_pool",
        "resize",
    }
)
"""Operators whose tensors are ``N C spatial...`` and stand channels last unless another layout is chosen."""

_KEEPING = frozenset(
    {
        "abs",
        "add",
        "affine",
        "batch_normalization",
        "clip",
        "concat",
        "dropout",
        "gelu",
        "leaky_relu",
        "mul",
        "pad",
        "relu",
        "sigmoid",
        "silu",
        "slice",
        "softplus",
        "sub",
        "tanh",
    }
)
"""Operators whose result stands as their first operand does."""


@dataclass(frozen=True)
class WeightLayout(Layout):
    """A weight layout that says how the axes stand.

    Parameters
    ----------
    order : tuple of int
        Axis ``i`` of each native array is the graph's axis ``order[i]``, of those left if the first was
        taken apart.
    columns : Columns or None
        As in :class:`~benchmarker.plugins.tensorflow.tensors.Tensor`.
    apart : bool
        Whether there is a native array for each index of the first axis.
    """

    order: Order = ()
    columns: Columns | None = None
    apart: bool = False

    def tensors(self, natives: Sequence[Any]) -> Tensor | tuple[Tensor, ...]:
        """Return the parameter whose native values are ``natives``, in parts if it was taken apart."""
        tensors = tuple(Tensor(native, self.order, True, self.columns) for native in natives)
        return tensors if self.apart else tensors[0]


def ordered(order: Order) -> WeightLayout:
    """Return the layout ``native = array.transpose(order)``."""
    layout = permuted(order) if order != graph_order(len(order)) else plain()
    return WeightLayout(layout.name, layout.encode, layout.decode, order)


def directions() -> WeightLayout:
    """Return the layout of a recurrent weight ``(D, gates, in)`` as one ``(in, gates)`` a direction."""
    return WeightLayout(
        "directions",
        lambda array: tuple(np.ascontiguousarray(matrix.T) for matrix in array),
        lambda arrays: np.stack([array.T for array in arrays]),
        (1, 0),
        apart=True,
    )


def flattened(columns: Columns) -> WeightLayout:
    """Return the layout of a dense layer's weight ``(out, in)`` as ``(in, out)`` with permuted ``in``."""
    native = tuple(columns.sizes[axis] for axis in columns.order)
    inverse = tuple(int(i) for i in np.argsort(columns.order))

    def encode(array: Array) -> tuple[Array, ...]:
        axes = (*(1 + axis for axis in columns.order), 0)
        permuted = array.reshape(len(array), *columns.sizes).transpose(axes)
        return (np.ascontiguousarray(permuted.reshape(-1, len(array))),)

    def decode(arrays: Any) -> Array:
        (array,) = arrays
        axes = (len(native), *inverse)
        permuted = array.reshape(*native, array.shape[1]).transpose(axes)
        return np.ascontiguousarray(permuted.reshape(array.shape[1], -1))

    return WeightLayout(f"flattened{columns.sizes}{columns.order}", encode, decode, (1, 0), columns)


class _Uses:
    """Which node makes each value, and how values that nodes pass on stand."""

    def __init__(self, graph: Graph, images_last: bool) -> None:
        self._graph = graph
        self._images_last = images_last
        self._maker = {name: node for node in graph.nodes for name in node.outputs}
        self._feeding: dict[str, bool] = {}

    def rank(self, name: str) -> int:
        return len(self._graph.types[name].shape)

    def stands_last(self, name: str) -> bool:
        """Return whether value ``name`` will stand channels last."""
        if not self._images_last:
            return False
        node = self._maker.get(name)
        if node is None:
            return self.feeds_spatial(name)
        if node.operator in _SPATIAL:
            return True
        return node.operator in _KEEPING and self.stands_last(node.inputs[0])

    def feeds_spatial(self, name: str) -> bool:
        """Return whether an input of the graph goes where channels stand last."""
        if name not in self._feeding:
            users = [node for node, position in self._graph.uses(name) if position == 0]
            image = self._images_last and self.rank(name) > 2
            self._feeding[name] = image and any(map(self._is_spatial, users))
        return self._feeding[name]

    def _is_spatial(self, node: Node) -> bool:
        if node.operator in _SPATIAL or node.operator == "batch_normalization":
            return True
        return node.operator in _KEEPING and any(map(self.feeds_spatial, node.outputs))

    def columns(self, name: str) -> Columns | None:
        """Return how the columns of matrix ``name`` will stand if it is a flattened image."""
        node = self._maker.get(name)
        if node is None or len(node.inputs) < 1:
            return None
        source = node.inputs[0]
        if node.operator in ("dropout", "relu"):
            return self.columns(source)
        if node.operator not in ("flatten", "reshape") or not self.stands_last(source):
            return None
        shape, result = self._graph.types[source].shape, self._graph.types[name].shape
        return flattened_columns(shape, channels_last(len(shape)), result)

    def wanted(self, node: Node, position: int) -> WeightLayout | None:
        """Return the layout that ``node`` wants of its argument, None if it takes the graph's."""
        rank = self.rank(node.inputs[position])
        if position == 0 and self.feeds_spatial(node.inputs[0]):
            return ordered(channels_last(rank))
        if position == 1 and node.operator in ("conv", "conv_transpose"):
            return ordered(filter_order(rank))
        if position in (1, 2) and node.operator in ("rnn", "lstm", "gru"):
            return directions()
        if position == 1 and node.operator == "gemm" and node.attributes["trans_b"]:
            columns = None if node.attributes["trans_a"] else self.columns(node.inputs[0])
            return flattened(columns) if columns else ordered((1, 0))
        return None


def flattened_columns(shape: tuple[int, ...], order: Order, result: tuple[int, ...]) -> Columns | None:
    """Return the columns of the matrix ``result`` that a tensor standing in ``order`` is reshaped to.

    None where they stand as in the graph, or where the first axis does not stay.
    """
    if len(result) != 2 or len(shape) < 3 or order[0] != 0 or shape[0] != result[0]:
        return None
    moving = [axis for axis in order if shape[axis] != 1]
    if moving == sorted(moving) or math.prod(shape[1:]) != result[1]:
        return None
    return Columns(shape[1:], tuple(axis - 1 for axis in order[1:]))


def weight_layouts(graph: Graph, *, images_last: bool = True) -> dict[str, WeightLayout]:
    """Return the layout of each parameter: what all its uses want, else the graph's own."""
    uses = _Uses(graph, images_last)
    return {
        parameter.name: _agreed(
            len(parameter.type.shape),
            (uses.wanted(node, position) for node, position in graph.uses(parameter.name)),
        )
        for parameter in graph.parameters
    }


def _agreed(rank: int, wanted: Iterable[WeightLayout | None]) -> WeightLayout:
    own = ordered(graph_order(rank))
    layouts: Mapping[str, WeightLayout] = {
        layout.name: layout for layout in (choice or own for choice in wanted)
    }
    return next(iter(layouts.values())) if len(layouts) == 1 else own


def input_orders(graph: Graph, *, images_last: bool = True) -> list[Order]:
    """Return the order in which each input is loaded: with ``images_last`` so where images are used.

    The gradient of an output is loaded as the output stands.
    """
    uses = _Uses(graph, images_last)
    images = {declared.name for declared in graph.inputs if uses.feeds_spatial(declared.name)}
    images.update(gradient for output, gradient in graph.upstream.items() if uses.stands_last(output))
    return [
        (channels_last if declared.name in images else graph_order)(len(declared.type.shape))
        for declared in graph.inputs
    ]
