"""Matrices most of whose elements are 0, kept as the places and values of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.axis_orders import graph_order
from benchmarker.plugins.common.layouts import sparse_operands
from benchmarker.plugins.tensorflow.layouts import WeightLayout
from benchmarker.plugins.tensorflow.tensors import Tensor
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SparseLayout(WeightLayout):
    """The layout of one matrix as the values of its elements that are not 0.

    Parameters
    ----------
    places : array
        Row and column of each of them, ``(n, 2)`` in the order of rows.
    shape : tuple of int
        Of the matrix.
    """

    places: Any = None
    shape: tuple[int, ...] = ()

    def tensors(self, natives: Sequence[Any]) -> Tensor:
        """Return the matrix as a ``tf.SparseTensor``."""
        from tensorflow import SparseTensor

        return Tensor(SparseTensor(self.places, natives[0], self.shape), graph_order(2))


def sparse_layouts(graph: Graph, parameters: Mapping[str, Array]) -> dict[str, SparseLayout]:
    """Return the layouts of the matrices that are sparse."""
    return {name: _layout_of(parameters[name]) for name in sparse_operands(graph)}


def _layout_of(matrix: Array) -> SparseLayout:
    places, shape = np.argwhere(matrix), matrix.shape

    def decode(arrays: Sequence[Array]) -> Array:
        whole = np.zeros(shape, arrays[0].dtype)
        whole[tuple(places.T)] = arrays[0]
        return whole

    return SparseLayout(
        "sparse", lambda array: (array[tuple(places.T)],), decode, graph_order(2), places=places, shape=shape
    )
