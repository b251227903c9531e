"""Where a node is bound: the memory of its results, and what its calls need."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.plugins.cudnn.elements import DOUBLE, Elements
from benchmarker.plugins.cudnn.library import Buffer, Handle, Library
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Shape = tuple[int, ...]
Call = Callable[..., Any]
"""What a node becomes: it takes buffers and gives one, or a tuple of them."""
MIN_RANK = 4
"""Axes that cuDNN's tensors have at least."""


@dataclass(frozen=True)
class Place:
    """Where a node is bound.

    Parameters
    ----------
    library : Library
        Whose calls it makes.
    elements : Elements
        Of all floating-point tensors.
    shapes : tuple of shape
        Of the inputs; None of one that is absent.
    constants : tuple of array
        Values of the inputs that are parameters; None of the others.
    results : tuple of shape
        Of the outputs.
    times_algorithms : bool
        Whether algorithms are chosen by their time.
    """

    library: Library
    elements: Elements
    shapes: tuple[Shape | None, ...]
    constants: tuple[Array | None, ...]
    results: tuple[Shape, ...]
    times_algorithms: bool

    def shape(self, position: int) -> Shape:
        """Return the shape of an input that is there."""
        found = self.shapes[position]
        assert found is not None
        return found

    def memory(self, shape: Sequence[int]) -> Buffer:
        """Return new memory for a tensor."""
        count = 1
        for size in shape:
            count *= size
        return Buffer(self.library, count * self.elements.size)

    def tensor(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> Handle:
        """Return the descriptor of a tensor."""
        return self.library.tensor(self.elements.cudnn, shape, strides)

    def factor(self, value: float) -> Any:
        """Return a number as the libraries take factors: a pointer to it, of the type that sums have."""
        kind = ctypes.c_double if self.elements.sums == DOUBLE else ctypes.c_float
        return ctypes.pointer(kind(value))

    def adding(
        self, shape: Sequence[int], target: Sequence[int], factor: float = 1.0
    ) -> Callable[[Any, Any], None]:
        """Return what adds a factor times one tensor, broadcast, to another, by their addresses."""
        rank = max(MIN_RANK, len(target))
        source, sum_ = (self.tensor((1,) * (rank - len(s)) + tuple(s)) for s in (shape, target))
        function, handle = self.library.call, self.library.cudnn
        alpha, one = self.factor(factor), self.factor(1.0)

        def add(addend: Any, result: Any) -> None:
            function("cudnnAddTensor", handle, alpha, source.pointer, addend, one, sum_.pointer, result)

        return add
