"""Values of a graph as memory of oneDNN: each in one layout, which its first use may choose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.onednn.library import FROM, TO, Handle, Library, Shape, Step

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def plain_strides(shape: Shape) -> tuple[int, ...]:
    """Return the strides of a tensor in C order, in elements."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class View:
    """A tensor as a primitive sees it: other axes over the same elements in C order.

    Parameters
    ----------
    shape, strides : tuple of int
        Of what the primitive sees; strides in elements, C order by default.
    """

    def __init__(self, shape: Shape, strides: Shape | None = None) -> None:
        self.shape = tuple(shape)
        self.strides = plain_strides(shape) if strides is None else tuple(strides)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and (self.shape, self.strides) == (other.shape, other.strides)

    __hash__ = None  # type: ignore[assignment]


class Value:
    """A value of the graph.

    Parameters
    ----------
    library : Library
        Whose memory it is.
    shape : tuple of int
        In the graph.
    constant : array, optional
        Its elements, if it is a parameter.
    """

    def __init__(self, library: Library, shape: Shape, constant: Array | None = None) -> None:
        self._library = library
        self.shape = tuple(shape)
        self.constant = constant
        self.view = View(shape)
        self.layout: Handle | None = None
        self.memory: Handle | None = None
        self._aliases: list[Handle] = []

    def place(self, view: View, layout: Handle) -> Handle:
        """Decide how it lies in memory."""
        self.view, self.layout = view, layout
        self.memory = self._library.memory(layout)
        return self.memory

    def alias(self, layout: Handle) -> Handle:
        """Return its memory seen otherwise; it moves with the value."""
        assert self.memory is not None
        found = self._library.memory(layout, self._library.address(self.memory).value)
        self._aliases.append(found)
        return found

    def lies_at(self, memory: Handle) -> None:
        """Take the place of memory that is laid out alike."""
        address = self._library.address(memory)
        for own in (self.memory, *self._aliases):
            assert own is not None
            self._library.move(own, address)

    def sent(self, array: Array) -> Handle:
        """Return memory laid out like the value's, with these elements."""
        assert self.layout is not None
        held = np.asarray(array, np.float32, order="C")
        memory = self._library.memory(self.layout)
        self._copy(held, memory, inwards=True)
        return memory

    def fetched(self) -> Array:
        """Return the elements as an array of the graph's shape."""
        found = np.empty(self.shape, np.float32)
        self._copy(found, self.memory, inwards=False)
        return found

    def _copy(self, array: Array, memory: Handle | None, *, inwards: bool) -> None:
        assert self.layout is not None
        assert memory is not None
        plain = self._library.described(self.view.shape, self.view.strides)
        outside = self._library.memory(plain, array.ctypes.data)
        ends = ((plain, outside), (self.layout, memory))
        (first, source), (second, target) = ends if inwards else ends[::-1]
        with self._library.one_thread():
            copy_step(self._library, (first, source), (second, target))()
            self._library.wait()


def copy_step(library: Library, source: tuple[Handle, Handle], target: tuple[Handle, Handle]) -> Step:
    """Return what copies memory to memory, each given with its layout."""
    primitive = library.reorder(source[0], target[0])
    return library.step(primitive, {FROM: source[1], TO: target[1]})
