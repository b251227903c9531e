"""A program of OpenBLAS: a straight line of its calls, each with memory for its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.plugins.openblas.library import Product
from benchmarker.plugins.openblas.operators import Call, OpenblasOperators, Operand, Place

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_DTYPES: Mapping[str, type[Any]] = {"fp32": np.float32, "fp64": np.float64}


class OpenblasProgram(Program):
    """Calls of OpenBLAS. Outputs are in the same memory after each step, so those of one are there until the next."""

    def __init__(
        self, graph: Graph, parameters: Mapping[str, Array], product: Product, precision: str
    ) -> None:
        self._graph = graph
        self._product = product
        self._dtype = _DTYPES[precision]
        self._parameters = {p.name: self._operand(parameters[p.name]) for p in graph.parameters}
        binding = {node.name: self._bound(node) for node in graph.nodes}
        self._run = straight_line(graph, binding, outputs=graph.outputs, constants=self._parameters)

    def _operand(self, value: Array) -> Operand:
        return Operand(np.array(value, self._dtype, order="C"))

    def _bound(self, node: Node) -> Call:
        types = self._graph.types
        shapes = tuple(types[name].shape for name in node.inputs if name)
        output = Operand(np.empty(types[node.outputs[0]].shape, self._dtype))
        operators = OpenblasOperators(Place(self._product, shapes, output))
        call: Call = getattr(operators, node.operator)(
            *(name or None for name in node.inputs), **node.keywords
        )
        return call

    def load(self, batch: Mapping[str, Array]) -> tuple[Operand, ...]:
        """Copy the mini-batch in C order."""
        return tuple(self._operand(np.asarray(batch[declared.name])) for declared in self._graph.inputs)

    def infer(self, batch: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return self._run(*batch)

    def parameters(self) -> dict[str, Array]:
        return {name: operand.array.copy() for name, operand in self._parameters.items()}

    def fetch(self, output: tuple[Operand, ...]) -> tuple[Array, ...]:
        return tuple(operand.array.copy() for operand in output)

    def synchronize(self, output: Any) -> None:
        """Return at once: a call returns when all threads are done."""
