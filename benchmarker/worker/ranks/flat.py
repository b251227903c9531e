"""All trainable parameters of a rank as one vector, one after the other in the order of the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.worker.verification.samples import MAX_COMPARED, sample_places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


class Layout:
    """Where each trainable parameter stands in the vector.

    Parameters
    ----------
    graph : Graph
        Whose parameters they are.
    sampled : bool
        Whether of large ones there are samples alone, flat, the same ones each time.
    """

    def __init__(self, graph: Graph, *, sampled: bool = False) -> None:
        self.elements = {p.name: p.type.elements for p in graph.trainable}
        self._places = {
            name: sample_places(name, n) if sampled else slice(None) for name, n in self.elements.items()
        }
        self.shapes = {
            p.name: p.type.shape if isinstance(self._places[p.name], slice) else (MAX_COMPARED,)
            for p in graph.trainable
        }
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()], dtype=np.int64).tolist()
        self.slices = {name: slice(start, end) for name, start, end in zip(self.shapes, [0, *ends], ends)}
        self.length: int = ends[-1]

    def views(self, vector: Array) -> Arrays:
        """Return the parameters as parts of the vector itself."""
        return {name: vector[self.slices[name]].reshape(shape) for name, shape in self.shapes.items()}

    def fill(self, vector: Array, arrays: Mapping[str, Array]) -> None:
        """Copy parameters into the vector."""
        for name, part in self.slices.items():
            vector[part] = np.reshape(arrays[name], -1)[self._places[name]]

    def sample(self, name: str, array: Array) -> Array:
        """Return what the vector has of a parameter, or of something of the same size."""
        found: Array = np.reshape(array, -1)[self._places[name]].reshape(self.shapes[name])
        return found

    def vector(self, arrays: Mapping[str, Array], dtype: Any) -> Array:
        """Return a vector of copies of parameters."""
        made = np.empty(self.length, dtype)
        self.fill(made, arrays)
        return made

    def parts(self, vector: Array, part: slice) -> Arrays:
        """Return what a part of the vector has of each parameter, in one dimension, of those that it has some of."""
        found = {}
        for name, own in self.slices.items():
            start, stop = max(own.start, part.start), min(own.stop, part.stop)
            if start < stop:
                found[name] = vector[start:stop]
        return found
