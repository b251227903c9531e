"""Which native arrays hold the graph's parameters: one each, but one for the three of an LSTM layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Parameter, TensorType
from benchmarker.layouts import Layout, gates, plain, two_biases
from benchmarker.plugins.mxnet.operators import GATES

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def native_shape(type_: TensorType) -> tuple[int, ...]:
    """Return the shape of an array of ``type_`` in MXNet, which knows no scalars."""
    return type_.shape or (1,)


@dataclass(frozen=True)
class Slot:
    """A native parameter.

    Parameters
    ----------
    name : str
        Name of the symbol's variable.
    members : tuple of Parameter
        The graph's parameters in it.
    layouts : tuple of Layout
        Of each member; several members lie flat, one behind the other.
    """

    name: str
    members: tuple[Parameter, ...]
    layouts: tuple[Layout, ...]

    @property
    def trainable(self) -> bool:
        """Whether an optimizer updates it."""
        return self.members[0].trainable

    def encode(self, values: Mapping[str, Array]) -> Array:
        """Return the native array from the graph's arrays."""
        if len(self.members) == 1:
            return np.asarray(values[self.members[0].name]).reshape(native_shape(self.members[0].type))
        return np.concatenate([part.ravel() for part in self._parts(values)])

    def decode(self, array: Array) -> dict[str, Array]:
        """Return the graph's arrays from the native one; linear, so gradients come back through it too."""
        if len(self.members) == 1:
            return {self.members[0].name: array.reshape(self.members[0].type.shape)}
        result = {}
        empty = {member.name: np.zeros(member.type.shape, array.dtype) for member in self.members}
        for member, layout in zip(self.members, self.layouts):
            shapes = [part.shape for part in layout.encode(empty[member.name])]
            parts = []
            for shape in shapes:
                size = int(np.prod(shape))
                parts.append(array[:size].reshape(shape))
                array = array[size:]
            result[member.name] = layout.decode(parts)
        return result

    def _parts(self, values: Mapping[str, Array]) -> Iterable[Array]:
        for member, layout in zip(self.members, self.layouts):
            yield from layout.encode(values[member.name])


def slots(graph: Graph) -> tuple[Slot, ...]:
    """Return the native parameters of ``graph``, in the order of its own.

    The weights of an LSTM layer that nothing else uses become the one flat vector that the native
    operator takes: input weights, recurrent weights, both biases, gates in the order i, f, c, o.
    """
    packed = {}
    by_name = {parameter.name: parameter for parameter in graph.parameters}
    for node in graph.nodes:
        names = node.inputs[1:]
        if node.operator == "lstm" and all(n in by_name and len(graph.uses(n)) == 1 for n in names):
            members = tuple(by_name[name] for name in names)
            if len({member.trainable for member in members}) == 1:
                layouts = (gates(GATES, 0), gates(GATES, 0), two_biases(GATES))
                slot = Slot(f"{node.name}.packed", members, layouts)
                packed.update(dict.fromkeys(names, slot))
    found = (packed.get(p.name, Slot(p.name, (p,), (plain(),))) for p in graph.parameters)
    return tuple(dict.fromkeys(found))
