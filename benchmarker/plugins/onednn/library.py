"""The C functions of oneDNN 3, by way of ctypes: descriptors of memory, memory, and primitives.

Numbers are those of ``dnnl_types.h`` and ``dnnl_common_types.h``, which do not change within a major version.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.plugins.onednn import DISTRIBUTION
from benchmarker.quick_dataclass import dataclass

SRC, SRC_1, DST, DST_1, DST_2 = 1, 2, 17, 18, 19
WEIGHTS, WEIGHTS_1, BIAS, FROM, TO = 33, 34, 41, 1, 17
"""What an argument of a primitive is (``DNNL_ARG_*``)."""
FORWARD_INFERENCE = 96
CONVOLUTION_DIRECT, ELTWISE_RELU, ELTWISE_TANH = 1, 0x20, 0x21
LEFT_TO_RIGHT = 1

_CPU, _F32, _ANY, _IN_ORDER = 1, 3, 1, 1
_QUERY_IMPLEMENTATION, _QUERY_ARGUMENT = 8, 255
_UNIMPLEMENTED = 3
_STATUS: tuple[str, ...] = (
    "success",
    "out of memory",
    "invalid arguments",
    "unimplemented",
    "last implementation reached",
)
_STATUS += (
    "runtime error",
    "not required",
    "invalid graph",
    "invalid operation",
    "invalid shape",
    "invalid type",
)
_MAX_RANK = 12
_ALLOCATE = ctypes.c_void_p(-1)

Shape = Sequence[int]


class Handle:
    """Something of the library's, destroyed with this object."""

    def __init__(self, pointer: int | None, destroy: Any) -> None:
        self.pointer = ctypes.c_void_p(pointer)
        if destroy is not None:
            weakref.finalize(self, destroy, self.pointer).atexit = False


class _Argument(ctypes.Structure):
    _fields_ = (("index", ctypes.c_int), ("memory", ctypes.c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    )


@dataclass(frozen=True)
class Primitive:
    """What can be executed, and the name of the implementation that the library chose for it."""

    description: Handle
    handle: Handle
    implementation: str


def dims(sizes: Shape) -> ctypes.Array[ctypes.c_int64]:
    """Return sizes as ``dnnl_dims_t``."""
    return (ctypes.c_int64 * _MAX_RANK)(*sizes)


def _path() -> str:
    files = metadata.files(DISTRIBUTION) or []
    (found,) = {str(file.locate()) for file in files if file.name == "libdnnl.so.3"}
    return found


class Library:
    """oneDNN's engine of the CPU and a stream of it. Each call raises where the library says that it failed."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(_path())
        self._library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self._library.dnnl_version.restype = ctypes.POINTER(_Version)
        self._execute = self._library.dnnl_primitive_execute
        self._openmp = ctypes.CDLL("libgomp.so.1")
        self._threads = 1
        self._engine = self.make("engine", "engine_create", _CPU, ctypes.c_size_t(0))
        self._stream = self.make("stream", "stream_create", self._engine, _IN_ORDER)

    def version(self) -> str:
        """Return the library's own version, which its distribution does not have."""
        version = self._library.dnnl_version().contents
        return f"{version.major}.{version.minor}.{version.patch} ({(version.hash or b'').decode()[:12]})"

    def set_threads(self, threads: int) -> None:
        """Have primitives that are made from now on run on so many threads."""
        self._threads = threads
        self._openmp.omp_set_num_threads(threads)

    @contextlib.contextmanager
    def one_thread(self) -> Iterator[None]:
        """Have primitives made and run by this thread alone: what is not timed need not wait for others to be awake."""
        self._openmp.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._openmp.omp_set_num_threads(self._threads)

    def make(self, kind: str, function: str, *arguments: Any) -> Handle:
        """Return what a function makes, whose first argument is where to put it.

        Raises
        ------
        UnsupportedError
            If the library has no implementation.
        """
        pointer = ctypes.c_void_p()
        self._call(function, ctypes.byref(pointer), *arguments)
        return Handle(pointer.value, getattr(self._library, f"dnnl_{kind}_destroy"))

    def _call(self, function: str, *arguments: Any) -> None:
        given = [a.pointer if isinstance(a, Handle) else a for a in arguments]
        _check(getattr(self._library, f"dnnl_{function}")(*given), function)

    def described(self, shape: Shape, strides: Shape | None = None) -> Handle:
        """Return the descriptor of a float32 tensor; without strides its layout is left to the primitive."""
        if strides is None:
            return self.make(
                "memory_desc", "memory_desc_create_with_tag", len(shape), dims(shape), _F32, _ANY
            )
        given = len(shape), dims(shape), _F32, dims(strides)
        return self.make("memory_desc", "memory_desc_create_with_strides", *given)

    def same(self, first: Handle, second: Handle) -> bool:
        """Return whether two descriptors say the same."""
        return bool(self._library.dnnl_memory_desc_equal(first.pointer, second.pointer))

    def memory(self, description: Handle, address: int | None = None) -> Handle:
        """Return memory as described: at an address, else the library's own."""
        where = _ALLOCATE if address is None else ctypes.c_void_p(address)
        return self.make("memory", "memory_create", description, self._engine, where)

    def address(self, memory: Handle) -> ctypes.c_void_p:
        """Return where memory is."""
        found = ctypes.c_void_p()
        self._call("memory_get_data_handle", memory, ctypes.byref(found))
        return found

    def move(self, memory: Handle, address: ctypes.c_void_p) -> None:
        """Have memory lie at another address."""
        self._call("memory_set_data_handle", memory, address)

    def primitive(self, function: str, *arguments: Any, leading: Sequence[Any] = ()) -> Primitive:
        """Return a primitive by the function that makes its descriptor; no attributes are changed."""
        engine = () if leading else (self._engine,)
        description = self.make(
            "primitive_desc", f"{function}_primitive_desc_create", *leading, *engine, *arguments, None
        )
        name = ctypes.c_char_p()
        self._call("primitive_desc_query", description, _QUERY_IMPLEMENTATION, 0, ctypes.byref(name))
        handle = self.make("primitive", "primitive_create", description)
        return Primitive(description, handle, (name.value or b"").decode())

    def wanted(self, primitive: Primitive, argument: int) -> Handle:
        """Return the descriptor of what a primitive takes or gives as an argument; the primitive owns it."""
        query = self._library.dnnl_primitive_desc_query_md
        return Handle(query(primitive.description.pointer, _QUERY_ARGUMENT, argument), None)

    def reorder(self, source: Handle, target: Handle) -> Primitive:
        """Return the primitive that copies from one layout to another."""
        return self.primitive("reorder", leading=(source, self._engine, target, self._engine))

    def step(self, primitive: Primitive, arguments: Mapping[int, Handle]) -> Step:
        """Return a primitive with its arguments, ready to be executed."""
        found = (_Argument * len(arguments))()
        for slot, (index, memory) in zip(found, arguments.items()):
            slot.index, slot.memory = index, memory.pointer.value
        return Step(self, primitive, tuple(arguments.values()), found)

    def run(self, step: Step) -> None:
        """Execute a step; it may end later than this returns."""
        given = step.primitive.handle.pointer, self._stream.pointer, len(step.arguments), step.arguments
        _check(self._execute(*given), "primitive_execute")

    def wait(self) -> None:
        """Return when all steps have ended."""
        self._call("stream_wait", self._stream)


@dataclass(frozen=True)
class Step:
    """A primitive, the memory that it works on, and both as the library takes them."""

    library: Library
    primitive: Primitive
    memory: tuple[Handle, ...]
    arguments: Any

    def __call__(self) -> None:
        self.library.run(self)


def _check(status: int, function: str) -> None:
    if status == _UNIMPLEMENTED:
        raise UnsupportedError(f"oneDNN has no implementation of what 'dnnl_{function}' was asked for")
    if status:
        reason = _STATUS[status] if status < len(_STATUS) else str(status)
        raise RuntimeError(f"dnnl_{function}: {reason}")
