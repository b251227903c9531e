"""Calling compiled functions on memory, without copies."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

from benchmarker.errors import UnsupportedError, UsageError
from benchmarker.graph.custom import CppSource
from benchmarker.plugins.common.custom.compiler import compiled
from benchmarker.quick_dataclass import dataclass

TYPE_CODES = {"float32": 0, "float64": 1, "int64": 2}
"""As in ``benchmarker_operator.h``."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_int32),
    )


@dataclass(frozen=True)
class Memory:
    """A contiguous tensor: where it is (None for a gradient that is not needed), its shape and element type."""

    address: int | None
    shape: tuple[int, ...]
    dtype: str


@functools.lru_cache(maxsize=256)
def _sizes(shape: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


def _tensors(group: Sequence[Memory]) -> ctypes.Array[_Tensor]:
    found = (_Tensor * len(group))()
    for slot, memory in zip(found, group):
        if memory.dtype not in TYPE_CODES:
            raise UnsupportedError(
                f"custom operators in C++ take {', '.join(TYPE_CODES)}, got {memory.dtype}; use precision fp32"
            )
        slot.data, slot.shape = memory.address, _sizes(memory.shape)
        slot.rank, slot.type = len(memory.shape), TYPE_CODES[memory.dtype]
    return found


class Library:
    """The compiled functions of an operator.

    Raises
    ------
    UsageError
        If the source does not compile, or lacks a function that it is said to have.
    """

    def __init__(self, source: CppSource) -> None:
        self._source = source
        library = ctypes.CDLL(str(compiled(source)))
        names = [name for name in (source.forward, source.backward) if name]
        missing = [name for name in names if not hasattr(library, name)]
        if missing:
            raise UsageError(
                f"the custom operator of '{source.files[0]}' must define the function '{missing[0]}', and as "
                'extern "C" in C++'
            )
        self._library = library

    def forward(self, inputs: Sequence[Memory], outputs: Sequence[Memory]) -> None:
        """Compute the outputs into memory."""
        self._call(self._source.forward, inputs, outputs)

    def backward(self, *groups: Sequence[Memory]) -> None:
        """Compute the gradients of the inputs; the groups are those of the C function."""
        if self._source.backward is None:
            raise UnsupportedError(
                f"the custom operator of '{self._source.files[0]}' has no backward function; use inference"
            )
        self._call(self._source.backward, *groups)

    def _call(self, name: str, *groups: Sequence[Memory]) -> None:
        status = getattr(self._library, name)(*map(_tensors, groups))
        if status:
            raise RuntimeError(f"'{name}' of '{self._source.files[0]}' returned {status}, which is an error")


@functools.cache
def library_of(source: CppSource) -> Library:
    """Return the functions of ``source``, compiled and loaded once per process."""
    return Library(source)
