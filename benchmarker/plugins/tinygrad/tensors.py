"""Tensors with memory of their own, which NumPy sees: what steps take, keep and give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def stored(array: Array) -> Array:
    """Return an array of the type that a tensor has: real numbers of 32 bits, integers too."""
    kinds = {"f": np.float32, "i": np.int32, "u": np.int32}
    return np.asarray(array, kinds.get(array.dtype.kind, array.dtype), order="C")


def loaded(array: Array) -> Any:
    """Return a tensor with a copy of an array, there already: one that is made of an array is read only later."""
    from tinygrad import Tensor, dtypes

    given = stored(array)
    types = {"f": dtypes.float32, "i": dtypes.int32, "b": dtypes.bool}
    tensor = Tensor.empty(*given.shape, dtype=types[given.dtype.kind])
    tensor.uop.base.buffer.allocate()
    host(tensor)[...] = given
    return tensor


def host(tensor: Any) -> Array:
    """Return the memory of a tensor as an array, once all that was begun has finished."""
    from tinygrad.dtype import _to_np_dtype

    memory = tensor.uop.base.buffer.as_memoryview(force_zero_copy=True)
    return np.frombuffer(memory, _to_np_dtype(tensor.dtype)).reshape(tensor.shape)


def owned(tensor: Any) -> Any:
    """Return what a step may give: not the memory of something else, nor a constant that has none."""
    base = tensor.uop.base
    if base.device is None or base.op.name == "BUFFER":
        from tinygrad import Device

        return tensor.clone(Device.DEFAULT)
    return tensor.contiguous()
