"""A program of cuBLAS and cuDNN: a straight line of their calls, all memory there before the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.plugins.cudnn.elements import Elements
from benchmarker.plugins.cudnn.library import Buffer, Library
from benchmarker.plugins.cudnn.place import Call, Place
from benchmarker.plugins.cudnn.recurrent import RecurrentOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class CudnnProgram(Program):
    """Calls of the libraries. Outputs are in the same memory after each step: those of one are there until the next."""

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        library: Library,
        elements: Elements,
        *,
        times_algorithms: bool,
    ) -> None:
        self._graph, self._library, self._elements = graph, library, elements
        self._times_algorithms = times_algorithms
        self._parameters = {p.name: np.array(parameters[p.name]) for p in graph.parameters}
        held = {name: self._sent(array) for name, array in self._parameters.items()}
        binding = {node.name: self._bound(node) for node in graph.nodes}
        self._run = straight_line(graph, binding, outputs=graph.outputs, constants=held)

    def _sent(self, array: Array) -> Buffer:
        buffer = self._library.send(self._elements.sent(array))
        assert buffer is not None
        return buffer

    def _bound(self, node: Node) -> Call:
        types = self._graph.types
        place = Place(
            self._library,
            self._elements,
            tuple(types[name].shape if name else None for name in node.inputs),
            tuple(self._parameters.get(name) for name in node.inputs),
            tuple(types[name].shape for name in node.outputs if name),
            self._times_algorithms,
        )
        names = (name or None for name in node.inputs)
        call: Call = getattr(RecurrentOperators(place), node.operator)(*names, **node.keywords)
        return call

    def load(self, batch: Mapping[str, Array]) -> tuple[Buffer, ...]:
        """Copy the mini-batch to the device in C order."""
        return tuple(self._sent(np.asarray(batch[declared.name])) for declared in self._graph.inputs)

    def infer(self, batch: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        return self._run(*batch)

    def parameters(self) -> dict[str, Array]:
        return {
            name: self._elements.fetched(self._elements.sent(array))
            for name, array in self._parameters.items()
        }

    def fetch(self, output: tuple[Buffer, ...]) -> tuple[Array, ...]:
        self._library.wait()
        shapes = (self._graph.types[name].shape for name in self._graph.outputs)
        return tuple(
            self._elements.fetched(self._library.receive(buffer, shape, self._elements.held))
            for buffer, shape in zip(output, shapes)
        )

    def synchronize(self, output: Any) -> None:
        self._library.wait()

    def memory(self) -> dict[str, int]:
        return {"used_bytes": self._library.used_memory()}

    def device_event(self) -> Any:
        return self._library.event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return self._library.seconds_between(first, last)
