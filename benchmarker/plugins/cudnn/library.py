"""The C functions of CUDA's runtime, cuBLAS 13 and cuDNN 9, by way of ctypes.

Signatures are those of ``cuda_runtime_api.h``, ``cublas_api.h`` and ``cudnn_*.h``: every argument's type is declared,
so that a wrong one is an error of Python's.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.plugins.cudnn import DISTRIBUTIONS

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

FILES = ("libcudart.so.13", "libcublas.so.13", "libcudnn.so.9")
OUT_OF_MEMORY = "cudaMalloc: out of memory"

_TYPES = {
    "p": ctypes.c_void_p, "i": ctypes.c_int, "u": ctypes.c_uint, "q": ctypes.c_longlong, "Q": ctypes.c_ulonglong,
    "z": ctypes.c_size_t, "f": ctypes.c_float, "d": ctypes.c_double,
}  # fmt: skip
"""A letter a type; a pointer to anything is ``p``."""
_SIGNATURES: Mapping[str, str] = {
    "cudaGetDeviceCount": "p", "cudaSetDevice": "i", "cudaGetDeviceProperties": "pi", "cudaRuntimeGetVersion": "p",
    "cudaMalloc": "pz", "cudaFree": "p", "cudaMemset": "piz", "cudaMemcpy": "ppzi", "cudaStreamSynchronize": "p",
    "cudaMemGetInfo": "pp", "cudaEventCreate": "p", "cudaEventDestroy": "p", "cudaEventRecord": "pp",
    "cudaEventElapsedTime": "ppp", "cublasCreate_v2": "p", "cublasDestroy_v2": "p", "cublasGetProperty": "ip",
    "cublasSetWorkspace_v2": "ppz", "cublasGemmStridedBatchedEx": "piiiiippiiqpiiqppiiqiii", "cudnnCreate": "p",
    "cudnnDestroy": "p", "cudnnSetTensorNdDescriptor": "piipp", "cudnnSetFilterNdDescriptor": "piiip",
    "cudnnSetConvolutionNdDescriptor": "pipppii", "cudnnSetConvolutionMathType": "pi",
    "cudnnSetConvolutionGroupCount": "pi", "cudnnSetActivationDescriptor": "piid",
    "cudnnSetDropoutDescriptor": "ppfpzQ", "cudnnAddTensor": "ppppppp", "cudnnTransformTensor": "ppppppp",
    "cudnnActivationForward": "pppppppp", "cudnnGetConvolutionForwardAlgorithm_v7": "pppppipp",
    "cudnnFindConvolutionForwardAlgorithmEx": "ppppppppipppz",
    "cudnnGetConvolutionForwardWorkspaceSize": "pppppip", "cudnnConvolutionForward": "pppppppipzppp",
    "cudnnSetRNNDescriptor_v8": "piiiiiiiiiiiipu", "cudnnSetRNNDataDescriptor": "piiiiipp",
    "cudnnGetRNNTempSpaceSizes": "ppippp", "cudnnGetRNNWeightSpaceSize": "ppp",
    "cudnnGetRNNWeightParams": "ppizpipppp", "cudnnRNNForward": "ppipppppppppppzpzpzp",
    **{f"cudnn{kind}{what}Descriptor": "p" for kind in ("Create", "Destroy")
       for what in ("Tensor", "Filter", "Convolution", "Activation", "Dropout", "RNNData", "RNN")},
}  # fmt: skip
_TO_DEVICE, _TO_HOST = 1, 2
_NOT_SUPPORTED = range(3000, 4000)
_WORKSPACE = 32 << 20
"""What cuBLAS may use; on newer GPUs its default is too small for some kernels."""


def paths() -> list[str]:
    """Return where the wheels have the libraries."""
    found = {}
    for distribution in DISTRIBUTIONS:
        for file in metadata.files(distribution) or []:
            found[file.name] = str(file.locate())
    return [found[name] for name in FILES]


class Buffer:
    """Memory on the device, given back with this object."""

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, library: Library, size: int) -> None:
        pointer = ctypes.c_void_p()
        library.call("cudaMalloc", ctypes.byref(pointer), max(size, 1))
        self.address, self.size = pointer.value, size
        weakref.finalize(self, library.functions["cudaFree"], self.address).atexit = False


class Handle:
    """Something of the libraries', destroyed with this object."""

    def __init__(self, pointer: ctypes.c_void_p, destroy: Any) -> None:
        self.pointer = pointer
        self.parts: tuple[Handle, ...] = ()
        """What it refers to, which must be there as long."""
        weakref.finalize(self, destroy, pointer).atexit = False


class Library:
    """The three libraries, and their handles for the device that was chosen."""

    def __init__(self) -> None:
        loaded = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in paths()]
        by_prefix = dict(zip(("cuda", "cublas", "cudnn"), loaded))
        self.functions: dict[str, Any] = {}
        for name, letters in _SIGNATURES.items():
            library = by_prefix[
                next(prefix for prefix in ("cublas", "cudnn", "cuda") if name.startswith(prefix))
            ]
            function = getattr(library, name)
            function.argtypes = [_TYPES[letter] for letter in letters]
            self.functions[name] = function
        self._error_string = by_prefix["cuda"].cudaGetErrorString
        self._error_string.restype = ctypes.c_char_p
        self._cudnn_version = by_prefix["cudnn"].cudnnGetVersion
        self._cudnn_version.restype = ctypes.c_size_t

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises
        ------
        UnsupportedError
            If it says that it does not have what it was asked for.
        RuntimeError
            If it says anything else than that it succeeded.
        """
        status = self.functions[name](*arguments)
        if not status:
            return
        if name.startswith("cudnn") and status in _NOT_SUPPORTED:
            raise UnsupportedError(
                f"cuDNN has no implementation of what '{name}' was asked for (status {status})"
            )
        reason = self._error_string(status).decode() if name.startswith("cuda") else f"status {status}"
        raise RuntimeError(f"{name}: {reason}")

    def start(self, index: int) -> str:
        """Choose a device, make the handles, and return its name.

        Raises
        ------
        UnsupportedError
            If there is no such device.
        """
        count, name = ctypes.c_int(), ctypes.create_string_buffer(4096)
        try:
            self.call("cudaGetDeviceCount", ctypes.byref(count))
        except RuntimeError as error:
            raise UnsupportedError(f"CUDA has no device here: {error}") from None
        if index >= count.value:
            raise UnsupportedError(f"CUDA sees {count.value} devices, so there is no 'cuda:{index}'")
        self.call("cudaSetDevice", index)
        self.call("cudaGetDeviceProperties", name, index)
        self.cublas, self.cudnn = self._handle("cublas", "_v2"), self._handle("cudnn", "")
        self._workspace = Buffer(self, _WORKSPACE)
        self.call("cublasSetWorkspace_v2", self.cublas, self._workspace.address, _WORKSPACE)
        return name.value.decode()

    def _handle(self, library: str, suffix: str) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        self.call(f"{library}Create{suffix}", ctypes.byref(pointer))
        return pointer

    def versions(self) -> dict[str, str]:
        """Return what the libraries tell of themselves."""
        runtime, parts = ctypes.c_int(), [ctypes.c_int() for _ in range(3)]
        self.call("cudaRuntimeGetVersion", ctypes.byref(runtime))
        for which, part in enumerate(parts):
            self.call("cublasGetProperty", which, ctypes.byref(part))
        cudnn = self._cudnn_version()
        return {
            "cuda": f"{runtime.value // 1000}.{runtime.value % 1000 // 10}",
            "cublas": ".".join(str(part.value) for part in parts),
            "cudnn": f"{cudnn // 10000}.{cudnn % 10000 // 100}.{cudnn % 100}",
        }

    def descriptor(self, kind: str, how: str, *arguments: Any) -> Handle:
        """Return a descriptor, made and set by the functions of these names."""
        made = self.blank(kind)
        self.call(f"cudnnSet{how}", made.pointer, *arguments)
        return made

    def blank(self, kind: str) -> Handle:
        """Return a descriptor that nothing is said of."""
        pointer = ctypes.c_void_p()
        self.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(pointer))
        return Handle(pointer, self.functions[f"cudnnDestroy{kind}Descriptor"])

    def tensor(self, element: int, sizes: Sequence[int], strides: Sequence[int] | None = None) -> Handle:
        """Return the descriptor of a tensor, in C order unless strides say otherwise."""
        given = c_order(sizes) if strides is None else strides
        return self.descriptor("Tensor", "TensorNdDescriptor", element, len(sizes), ints(sizes), ints(given))

    def send(self, array: Array, address: int | None = None) -> Buffer | None:
        """Copy an array to an address, else to new memory, which is returned."""
        buffer = Buffer(self, array.nbytes) if address is None else None
        where = address if buffer is None else buffer.address
        if array.nbytes:
            self.call("cudaMemcpy", where, array.ctypes.data, array.nbytes, _TO_DEVICE)
        return buffer

    def receive(self, buffer: Buffer, shape: Sequence[int], held: type[Any]) -> Array:
        """Return a copy of memory as an array."""
        array = np.empty(shape, held)
        if array.nbytes:
            self.call("cudaMemcpy", array.ctypes.data, buffer.address, array.nbytes, _TO_HOST)
        return array

    def wait(self) -> None:
        """Return when the device has done all that it was asked for."""
        self.call("cudaStreamSynchronize", None)

    def used_memory(self) -> int:
        """Return the bytes in use on the device, by all programs together."""
        left, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cudaMemGetInfo", ctypes.byref(left), ctypes.byref(total))
        return total.value - left.value

    def event(self) -> Handle:
        """Return an event in the device's queue."""
        pointer = ctypes.c_void_p()
        self.call("cudaEventCreate", ctypes.byref(pointer))
        self.call("cudaEventRecord", pointer, None)
        return Handle(pointer, self.functions["cudaEventDestroy"])

    def seconds_between(self, first: Handle, last: Handle) -> float:
        """Return the device's seconds from one event to another."""
        milliseconds = ctypes.c_float()
        self.call("cudaEventElapsedTime", ctypes.byref(milliseconds), first.pointer, last.pointer)
        return milliseconds.value / 1e3


def ints(values: Sequence[int]) -> ctypes.Array[ctypes.c_int]:
    """Return integers as C takes them."""
    return (ctypes.c_int * len(values))(*values)


def c_order(sizes: Sequence[int]) -> list[int]:
    """Return the strides of elements in C order."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return strides
