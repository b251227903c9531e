"""The steps that a graph comes down to, and the layouts of what they take."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.plugins.onednn.library import DST, Handle, Library, Primitive, Shape, Step
from benchmarker.plugins.onednn.values import Value, View, copy_step


class Plan:
    """The steps of a graph, in their order.

    Parameters
    ----------
    library : Library
        Whose primitives they are.
    best : bool
        Whether a primitive chooses the layout of images and sequences.
    """

    def __init__(self, library: Library, *, best: bool) -> None:
        self.library = library
        self.steps: list[Step] = []
        self._best = best

    def offered(self, value: Value, view: View) -> Handle:
        """Return the descriptor of a value with which a primitive is asked for: any layout, or what it is."""
        chosen = self._best or value.constant is not None
        return self.library.described(view.shape, None if chosen else view.strides)

    def exactly(self, view: View) -> Handle:
        """Return the descriptor of elements that lie as they are seen."""
        return self.library.described(view.shape, view.strides)

    def taken(self, value: Value, view: View, wanted: Handle) -> Handle:
        """Return the memory of a value as a primitive wants it; steps are added for what has to be changed."""
        if value.memory is None:
            return value.place(view, wanted)
        assert value.layout is not None
        if value.view != view:
            return self._seen(value, view, wanted)
        if self.library.same(value.layout, wanted):
            return value.memory
        return self._copied((value.layout, value.memory), wanted)

    def _seen(self, value: Value, view: View, wanted: Handle) -> Handle:
        """Return a value that lies in C order, by now, with other axes."""
        assert value.layout is not None
        assert value.memory is not None
        exact, plain = self.exactly(view), self.exactly(value.view)
        if self.library.same(value.layout, plain):
            memory = value.alias(exact)
        else:
            copied = self._copied((value.layout, value.memory), plain)
            memory = self.library.memory(exact, self.library.address(copied).value)
        return memory if self.library.same(exact, wanted) else self._copied((exact, memory), wanted)

    def _copied(self, source: tuple[Handle, Handle], wanted: Handle) -> Handle:
        memory = self.library.memory(wanted)
        self.steps.append(copy_step(self.library, source, (wanted, memory)))
        return memory

    def add(self, primitive: Primitive, arguments: Mapping[int, Handle]) -> None:
        """Have a primitive executed after those that are there."""
        self.steps.append(self.library.step(primitive, arguments))

    def result(self, shape: Shape, view: View, primitive: Primitive, argument: int = DST) -> Value:
        """Return a new value that a primitive writes."""
        value = Value(self.library, shape)
        value.place(view, self.library.wanted(primitive, argument))
        return value
