"""Which native arrays hold the graph's parameters: one each, but one for the three of a recurrent layer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node, Parameter
from benchmarker.plugins.common.layouts import Layout, recurrent_layouts
from benchmarker.plugins.mxnet.recurrent import GATES
from benchmarker.plugins.mxnet.symbol_operators import native_shape
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


LAYOUTS = recurrent_layouts(GATES)


@dataclass(frozen=True)
class Slot:
    """A native parameter.

    Parameters
    ----------
    name : str
        Name of the symbol's variable.
    members : tuple of Parameter
        The graph's parameters in it: one, or the weights, recurrent weights and biases of a layer.
    layouts : tuple of Layout
        How each of these stands in tensors that lie in the native array one behind the other.
    """

    name: str
    members: tuple[Parameter, ...]
    layouts: tuple[Layout, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the native array."""
        if len(self.members) > 1:
            return (sum(member.type.elements for member in self.members),)
        return native_shape(self.members[0].type)

    @property
    def trainable(self) -> bool:
        """Whether an optimizer updates it."""
        return self.members[0].trainable

    def encode(self, values: Mapping[str, Array]) -> Array:
        """Return the native array from the graph's arrays."""
        encoded = {
            m.name: iter(layout.encode(values[m.name])) for m, layout in zip(self.members, self.layouts)
        }
        tensors = [next(encoded[name]) for name, _ in self._tensors()]
        return np.concatenate([tensor.ravel() for tensor in tensors]) if len(tensors) > 1 else tensors[0]

    def decode(self, array: Array) -> dict[str, Array]:
        """Return the graph's arrays from the native one; linear, so gradients come back through it too."""
        natives = self.natives(array)
        return {m.name: layout.decode(natives[m.name]) for m, layout in zip(self.members, self.layouts)}

    def natives(self, array: Any) -> dict[str, list[Any]]:
        """Return the tensors of each member, views of an array of NumPy or MXNet that has the slot's shape."""
        if len(self.members) == 1:
            return {self.members[0].name: [array]}
        found: dict[str, list[Any]] = {member.name: [] for member in self.members}
        start = 0
        for name, shape in self._tensors():
            end = start + math.prod(shape)
            found[name].append(array[start:end].reshape(shape))
            start = end
        return found

    def _tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield member and shape of each tensor in MXNet's order: all weights, then all biases."""
        if len(self.members) == 1:
            yield self.members[0].name, self.shape
            return
        *weights, bias = self.members
        directions, both = bias.type.shape
        for _ in range(directions):
            yield from ((member.name, member.type.shape[1:]) for member in weights)
        yield from [(bias.name, (both // 2,))] * (2 * directions)


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
                layouts = tuple(LAYOUTS[node.operator, position](node) for position in (1, 2, 3))
                slot = Slot(f"{node.name}.packed", members, layouts)
                packed.update({name: packed.get(name, slot) for name in names})
    return tuple(dict.fromkeys(packed.get(p.name) or _alone(p) for p in graph.parameters))


def _alone(parameter: Parameter) -> Slot:
    """Return the slot of one parameter, which has its shape unless that is no axes at all."""
    shape, native = parameter.type.shape, native_shape(parameter.type)
    layout = Layout(
        f"native{native}",
        lambda array: (np.asarray(array).reshape(native),),
        lambda arrays: arrays[0].reshape(shape),
    )
    return Slot(parameter.name, (parameter,), (layout,))


def _only_together(graph: Graph, layer: Node) -> bool:
    """Whether the weights of ``layer`` are used by such layers only, all three at once."""
    return len(set(layer.inputs[1:])) == 3 and all(
        node.operator == layer.operator and node.inputs[1:] == layer.inputs[1:]
        for name in layer.inputs[1:]
        for node, _ in graph.uses(name)
    )
