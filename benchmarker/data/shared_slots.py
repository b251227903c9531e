"""Memory that two processes share, in slots of one mini-batch each."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

_ALIGNMENT = 64
Layout = Mapping[str, Any]
"""Of each array by name: its shape and its type, as JSON has them."""


def layout_of(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the layout of the arrays of a full mini-batch."""
    return {name: [list(array.shape), array.dtype.str] for name, array in arrays.items()}


def shared_file(size: int) -> int:
    """Return the descriptor of a file of so many bytes that has no name and goes with the last who has it open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("benchmarker-batches")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, max(size, 1))
    return descriptor


@dataclass(frozen=True)
class _Place:
    offset: int
    shape: tuple[int, ...]
    dtype: Any


class SharedSlots:
    """The slots in a shared file.

    Parameters
    ----------
    layout : mapping
        Of a full mini-batch.
    slots : int
        How many.
    """

    def __init__(self, layout: Layout, slots: int) -> None:
        self._places: dict[str, _Place] = {}
        end = 0
        for name, (shape, dtype) in layout.items():
            self._places[name] = _Place(end, tuple(shape), np.dtype(dtype))
            end += -(-math.prod(shape) * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT
        self._slot_bytes = end
        self._slots = slots
        self._memory: Any = None

    @property
    def bytes(self) -> int:
        """Size of all slots together."""
        return self._slot_bytes * self._slots

    def map(self, descriptor: int) -> None:
        """Use the file of a descriptor, which may be closed after it."""
        self._memory = mmap.mmap(descriptor, max(self.bytes, 1))

    def write(self, slot: int, arrays: Mapping[str, Array]) -> int:
        """Copy a mini-batch into a slot, and return how many rows it has."""
        rows = 0
        for name, array in arrays.items():
            rows = len(array)
            self._view(slot, name, rows)[...] = array
        return rows

    def read(self, slot: int, rows: int) -> Arrays:
        """Return a copy of what a slot has."""
        return {name: self._view(slot, name, rows).copy() for name in self._places}

    def _view(self, slot: int, name: str, rows: int) -> Array:
        place = self._places[name]
        shape = (rows, *place.shape[1:])
        start = slot * self._slot_bytes + place.offset
        return np.frombuffer(self._memory, place.dtype, math.prod(shape), start).reshape(shape)

    def close(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
