"""Which native arrays hold the graph's parameters: one each, but one for the three of a recurrent layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node, Parameter
from benchmarker.plugins.mxnet.recurrent import GATES
from benchmarker.plugins.mxnet.symbol_operators import native_shape

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Slot:
    """A native parameter.

    Parameters
    ----------
    name : str
        Name of the symbol's variable.
    members : tuple of Parameter
        The graph's parameters in it: one, or the weights, recurrent weights and biases of a layer.
    gates : tuple of int
        For a recurrent layer, the graph's gate at each place of MXNet's order.
    """

    name: str
    members: tuple[Parameter, ...]
    gates: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the native array."""
        if self.gates:
            return (sum(member.type.elements for member in self.members),)
        return native_shape(self.members[0].type)

    @property
    def trainable(self) -> bool:
        """Whether an optimizer updates it."""
        return self.members[0].trainable

    def encode(self, values: Mapping[str, Array]) -> Array:
        """Return the native array from the graph's arrays."""
        if not self.gates:
            return np.asarray(values[self.members[0].name]).reshape(self.shape)
        return np.concatenate([block.ravel() for block in self._blocks(values)])

    def decode(self, array: Array) -> dict[str, Array]:
        """Return the graph's arrays from the native one; linear, so gradients come back through it too."""
        if not self.gates:
            return {self.members[0].name: array.reshape(self.members[0].type.shape)}
        result = {member.name: np.empty(member.type.shape, array.dtype) for member in self.members}
        position = 0
        for block in self._blocks(result):
            block[...] = array[position : position + block.size].reshape(block.shape)
            position += block.size
        return result

    def _blocks(self, values: Mapping[str, Array]) -> Iterator[Array]:
        """Yield views of the layer's arrays in MXNet's order: all weights, then all biases."""
        w, r, b = (values[member.name] for member in self.members)
        for direction in range(len(w)):
            for weights in (w, r):
                yield from self._gates_of(weights[direction])
        for direction in range(len(w)):
            for bias in np.split(b[direction], 2):
                yield from self._gates_of(bias)

    def _gates_of(self, array: Array) -> Iterator[Array]:
        parts = np.split(array, len(self.gates))
        yield from (parts[gate] for gate in self.gates)


def slots(graph: Graph) -> tuple[Slot, ...]:
    """Return the native parameters of ``graph``, in the order of its own.

    The weights of a recurrent layer that nothing else uses become the one flat vector that the native
    operator takes: for each direction input and recurrent weights, then for each direction both biases.
    """
    packed: dict[str, Slot] = {}
    parameters = {parameter.name: parameter for parameter in graph.parameters}
    for node in graph.nodes:
        names = node.inputs[1:]
        if node.operator in GATES and _only_together(graph, node) and set(names) <= set(parameters):
            members = tuple(parameters[name] for name in names)
            if len({member.trainable for member in members}) == 1:
                slot = Slot(f"{node.name}.packed", members, GATES[node.operator])
                packed.update({name: packed.get(name, slot) for name in names})
    return tuple(dict.fromkeys(packed.get(p.name, Slot(p.name, (p,))) for p in graph.parameters))


def _only_together(graph: Graph, layer: Node) -> bool:
    """Whether the weights of ``layer`` are used by such layers only, all three at once."""
    return len(set(layer.inputs[1:])) == 3 and all(
        node.operator == layer.operator and node.inputs[1:] == layer.inputs[1:]
        for name in layer.inputs[1:]
        for node, _ in graph.uses(name)
    )
