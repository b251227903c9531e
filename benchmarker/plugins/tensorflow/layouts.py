"""The layouts in which TensorFlow wants inputs and weights, decided from how the graph uses them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.common.axis_orders import (
    Order,
    filter_order,
    graph_order,
    image_order,
    moves_elements,
)
from benchmarker.plugins.common.image_flow import ImageFlow
from benchmarker.plugins.common.layouts import Layout, flattened, permuted
from benchmarker.plugins.tensorflow.tensors import Columns, Tensor
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


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
    layout = permuted(order)
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


def behind(columns: Columns) -> WeightLayout:
    """Return the layout of a dense layer's weight behind a matrix with such columns."""
    layout = flattened(columns.sizes, columns.order)
    return WeightLayout(layout.name, layout.encode, layout.decode, (1, 0), columns)


class _Uses:
    """What each use of a parameter wants.

    Parameters
    ----------
    graph : Graph
        With the uses.
    images_last : bool
        Whether images stand channels last.
    """

    def __init__(self, graph: Graph, images_last: bool) -> None:
        self._graph = graph
        self._flow = ImageFlow(graph)
        self._images_last = images_last

    def is_channels_last(self, name: str) -> bool:
        """Return whether a value will stand channels last."""
        return self._images_last and self._flow.is_image(name)

    def columns(self, name: str) -> Columns | None:
        """Return how the columns of matrix ``name`` will stand if it is a flattened image."""
        node = self._flow.maker(name)
        if node is None or len(node.inputs) < 1:
            return None
        source = node.inputs[0]
        if node.operator in ("dropout", "relu"):
            return self.columns(source)
        if node.operator not in ("flatten", "reshape") or not self.is_channels_last(source):
            return None
        shape, result = self._graph.types[source].shape, self._graph.types[name].shape
        return flattened_columns(shape, image_order(len(shape)), result)

    def wanted(self, node: Node, position: int) -> WeightLayout | None:
        """Return the layout that ``node`` wants of its argument, None if it takes the graph's."""
        rank = self._flow.rank(node.inputs[position])
        if position == 0 and self._images_last and self._flow.feeds_images(node.inputs[0]):
            return ordered(image_order(rank))
        if position == 1 and node.operator in ("conv", "conv_transpose"):
            return ordered(filter_order(rank))
        if position in (1, 2) and node.operator in ("rnn", "lstm", "gru"):
            return directions()
        if position == 1 and node.operator == "gemm" and node.attributes["trans_b"]:
            columns = None if node.attributes["trans_a"] else self.columns(node.inputs[0])
            return behind(columns) if columns else ordered((1, 0))
        return None


def flattened_columns(shape: tuple[int, ...], order: Order, result: tuple[int, ...]) -> Columns | None:
    """Return the columns of the matrix ``result`` that a tensor standing in ``order`` is reshaped to.

    None where they stand as in the graph, or where the first axis does not stay.
    """
    if len(result) != 2 or len(shape) < 3 or order[0] != 0 or shape[0] != result[0]:
        return None
    stays = not moves_elements(shape, order, graph_order(len(shape)))
    if stays or math.prod(shape[1:]) != result[1]:
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
    layouts = {layout.name: layout for layout in (choice or own for choice in wanted)}
    return layouts.popitem()[1] if len(layouts) == 1 else own


def input_orders(graph: Graph, *, images_last: bool = True) -> list[Order]:
    """Return the order in which each input is loaded: with ``images_last`` so where images are used.

    The gradient of an output is loaded as the output stands.
    """
    uses = _Uses(graph, images_last)
    upstream = {gradient: output for output, gradient in graph.upstream.items()}
    images = {i.name for i in graph.inputs if uses.is_channels_last(upstream.get(i.name, i.name))}
    return [image_order(len(declared.type.shape), declared.name in images) for declared in graph.inputs]
