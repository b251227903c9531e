"""Weight layouts: how a parameter of the graph maps to a framework's native tensors, outside the timed path."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Recurrent
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.common.axis_orders import inverse
from benchmarker.quick_dataclass import dataclass

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
        The inverse, a view where it can be. Gradients come back through it too, so it must be linear.
    """

    name: str
    encode: Callable[[Array], tuple[Array, ...]]
    decode: Callable[[Sequence[Array]], Array]


def plain() -> Layout:
    """Return the graph's own layout."""
    return Layout("plain", lambda array: (array,), lambda arrays: arrays[0])


def permuted(axes: tuple[int, ...]) -> Layout:
    """Return the layout with the axes permuted, ``native = array.transpose(axes)``; in their order, the graph's."""
    if axes == tuple(range(len(axes))):
        return plain()
    back = inverse(axes)
    return Layout(
        f"permuted{axes}",
        lambda array: (np.ascontiguousarray(array.transpose(axes)),),
        lambda arrays: arrays[0].transpose(back),
    )


def flattened(sizes: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    """Return the layout of a dense layer's weight ``(out, in)`` as ``(in, out)`` behind a flattened tensor.

    Parameters
    ----------
    sizes : tuple of int
        Of the axes that were flattened, as the graph has them.
    order : tuple of int
        Native axis ``i`` is the graph's axis ``order[i]`` of them.
    """
    back = inverse(order)

    def encode(array: Array) -> tuple[Array, ...]:
        axes = (*(1 + axis for axis in order), 0)
        moved = array.reshape(len(array), *sizes).transpose(axes)
        return (np.ascontiguousarray(moved.reshape(-1, len(array))),)

    def decode(arrays: Sequence[Array]) -> Array:
        (array,) = arrays
        axes = (len(sizes), *back)
        moved = array.reshape(*(sizes[axis] for axis in order), array.shape[1]).transpose(axes)
        return np.ascontiguousarray(moved.reshape(array.shape[1], -1))

    return Layout(f"flattened{sizes}{order}", encode, decode)


def reorder_gates(array: Array, order: Sequence[int], axis: int) -> Array:
    """Return ``array`` with its blocks along ``axis`` (one per gate) in ``order``."""
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
    back = inverse(order)
    return Layout(
        f"gates{order}{axis}",
        lambda array: (reorder_gates(array[0], order, axis),),
        lambda arrays: reorder_gates(arrays[0], back, axis)[None],
    )


def two_biases(order: tuple[int, ...]) -> Layout:
    """Return the layout of a recurrent bias ``(1, 2 * gates * H)`` as two vectors, input's and recurrent's."""
    back = inverse(order)

    def encode(array: Array) -> tuple[Array, ...]:
        return tuple(reorder_gates(half, order, 0) for half in np.split(array[0], 2))

    def decode(arrays: Sequence[Array]) -> Array:
        return np.concatenate([reorder_gates(half, back, 0) for half in arrays])[None]

    return Layout(f"two_biases{order}", encode, decode)


def direction_count(node: Node) -> int:
    """Return the number of directions of a recurrent layer."""
    layer: Recurrent = node.keywords["layer"]
    return layer.directions


def directions(one: Layout, count: int) -> Layout:
    """Return the layout of a recurrent parameter in which ``one`` holds for each direction by itself.

    Parameters
    ----------
    one : Layout
        Of the parameter with a leading direction axis of size 1 (:func:`gates`, :func:`two_biases`).
    count : int
        Number of directions; the native arrays of the first come before those of the second.
    """
    if count == 1:
        return one

    def encode(array: Array) -> tuple[Array, ...]:
        return tuple(native for part in np.split(array, count) for native in one.encode(part))

    def decode(arrays: Sequence[Array]) -> Array:
        size = len(arrays) // count
        parts = (arrays[size * i : size * (i + 1)] for i in range(count))
        return np.concatenate([one.decode(part) for part in parts])

    return Layout(f"{one.name} in {count} directions", encode, decode)


def sparse_operands(graph: Graph) -> frozenset[str]:
    """Return the parameters that only ``sparse_matmul`` takes, as its sparse operand, and no update moves."""
    return frozenset(
        parameter.name
        for parameter in graph.parameters
        if not parameter.trainable
        and {(node.operator, place) for node, place in graph.uses(parameter.name)} == {("sparse_matmul", 0)}
    )


LayoutTable = Mapping[tuple[str, int], Callable[[Node], Layout]]
"""``(operator, position of the argument)`` to the layout that the framework wants there."""


def recurrent_layouts(orders: Mapping[str, tuple[int, ...]]) -> LayoutTable:
    """Return the layouts of recurrent layers whose weights are an array for each direction, and biases two.

    Parameters
    ----------
    orders : mapping
        Of each operator the graph's gate at each native position.
    """

    def weight(node: Node) -> Layout:
        return directions(gates(orders[node.operator], 0), direction_count(node))

    def bias(node: Node) -> Layout:
        return directions(two_biases(orders[node.operator]), direction_count(node))

    positions = {1: weight, 2: weight, 3: bias}
    return {(operator, position): layout for operator in orders for position, layout in positions.items()}


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


_Kind = TypeVar("_Kind", bound=Layout)


def with_unbiased_variances(layouts: Mapping[str, _Kind], graph: Graph) -> dict[str, _Kind]:
    """Return the layouts for training with a framework that moves running variances by the unbiased one.

    The definition (ONNX's) takes the biased variance of the mini-batch, smaller by ``(n - 1) / n`` for
    ``n`` values a channel. Both move by the same linear rule, so what such a framework keeps is always
    ``n / (n - 1)`` times the definition's if it starts so. Scaled outside of the timed path, both agree.
    """
    scaled = dict(layouts)
    for node in graph.nodes:
        if node.operator != "batch_normalization":
            continue
        shape = graph.types[node.inputs[0]].shape
        count = math.prod(shape) // shape[1]
        if count > 1:
            variance = node.inputs[4]
            scaled[variance] = _times(layouts[variance], count / (count - 1))
    return scaled


def _times(layout: _Kind, factor: float) -> _Kind:
    def encode(array: Array) -> tuple[Array, ...]:
        return layout.encode(array.astype(np.float64) * factor)  # a program rounds it to its own type

    def decode(arrays: Sequence[Array]) -> Array:
        array = layout.decode(arrays)
        quotient: Array = (array.astype(np.float64) / factor).astype(array.dtype)
        return quotient

    return replace(layout, name=f"{layout.name} times {factor!r}", encode=encode, decode=decode)
