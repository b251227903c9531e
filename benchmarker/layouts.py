"""Weight layouts: how a parameter of the graph maps to a framework's native tensors, outside the timed path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Layout:
    """A parameter's native form.

    Parameters
    ----------
    name : str
        Two layouts are the same if they have the same name.
    encode : callable
        Graph array to one native array or several.
    decode : callable
        The inverse. Gradients come back through it too, so it must be linear.
    """

    name: str
    encode: Callable[[Array], tuple[Array, ...]]
    decode: Callable[[Sequence[Array]], Array]


def plain() -> Layout:
    """Return the graph's own layout."""
    return Layout("plain", lambda array: (array,), lambda arrays: arrays[0])


def permuted(axes: tuple[int, ...]) -> Layout:
    """Return the layout with the axes permuted, ``native = array.transpose(axes)``."""
    inverse = tuple(int(i) for i in np.argsort(axes))
    return Layout(
        f"permuted{axes}",
        lambda array: (np.ascontiguousarray(array.transpose(axes)),),
        lambda arrays: np.ascontiguousarray(arrays[0].transpose(inverse)),
    )


def reorder_gates(array: Array, order: Sequence[int], axis: int) -> Array:
    """Return ``array`` with its blocks along ``axis`` (one a gate) in ``order``."""
    blocks = np.split(array, len(order), axis=axis)
    return np.concatenate([blocks[i] for i in order], axis=axis)


def gates(order: tuple[int, ...], axis: int) -> Layout:
    """Return the layout of recurrent weights with other gate order; the leading direction axis goes.

    Parameters
    ----------
    order : tuple of int
        The graph's gate at each native position.
    axis : int
        The axis of the gates after the direction axis is gone.
    """
    inverse = tuple(int(i) for i in np.argsort(order))
    return Layout(
        f"gates{order}{axis}",
        lambda array: (reorder_gates(array[0], order, axis),),
        lambda arrays: reorder_gates(arrays[0], inverse, axis)[None],
    )


def two_biases(order: tuple[int, ...]) -> Layout:
    """Return the layout of a recurrent bias ``(1, 2 * gates * H)`` as two vectors, input's and recurrent's."""
    inverse = tuple(int(i) for i in np.argsort(order))

    def encode(array: Array) -> tuple[Array, ...]:
        return tuple(reorder_gates(half, order, 0) for half in np.split(array[0], 2))

    def decode(arrays: Sequence[Array]) -> Array:
        return np.concatenate([reorder_gates(half, inverse, 0) for half in arrays])[None]

    return Layout(f"two_biases{order}", encode, decode)


LayoutTable = Mapping[tuple[str, int], Callable[[Node], Layout]]
"""``(operator, position of the argument)`` to the layout that the framework wants there."""


def parameter_layouts(graph: Graph, table: LayoutTable) -> dict[str, Layout]:
    """Return the layout of each parameter from where it is used.

    Raises
    ------
    UnsupportedError
        If a parameter is used in two places that want it in different layouts.
    """
    layouts: dict[str, Layout] = {}
    for parameter in graph.parameters:
        wanted = {}
        for node, position in graph.uses(parameter.name):
            make = table.get((node.operator, position))
            layout = make(node) if make else plain()
            wanted[layout.name] = layout
        if len(wanted) > 1:
            raise UnsupportedError(
                f"parameter '{parameter.name}' is used in layouts {', '.join(sorted(wanted))} at once"
            )
        layouts[parameter.name] = next(iter(wanted.values()), plain())
    return layouts
