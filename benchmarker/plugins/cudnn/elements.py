"""Elements of tensors in each precision: what the libraries call them, and how NumPy's become them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

FLOAT, DOUBLE, HALF, BFLOAT16 = 0, 1, 2, 9
"""``cudnnDataType_t``."""
_DEFAULT, _TENSOR_CORES, FUSED_MULTIPLY_ADD = 0, 1, 3
"""``cudnnMathType_t``."""
_R_32F, _R_64F, _R_16F, _R_16BF = 0, 1, 2, 14
"""``cudaDataType_t``."""
_COMPUTE_32F, _COMPUTE_64F, _COMPUTE_32F_TF32 = 68, 70, 77
"""``cublasComputeType_t``."""


@dataclass(frozen=True)
class Elements:
    """A precision as the libraries take it.

    Parameters
    ----------
    held : type
        NumPy's type of the same size; bfloat16 is held by uint16.
    cudnn, cuda : int
        Its names.
    sums : int
        What cuDNN adds up in, and what factors are given in.
    math : int
        Which of its units cuDNN may take.
    compute : int
        What cuBLAS multiplies and adds up in.
    """

    held: type[Any]
    cudnn: int
    cuda: int
    sums: int
    math: int
    compute: int

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.held).itemsize

    def sent(self, array: Array) -> Array:
        """Return values as they lie on the device, in C order."""
        if self.cudnn != BFLOAT16:
            return np.array(array, self.held, order="C")
        bits = np.array(array, np.float32, order="C").view(np.uint32)
        to_even = 0x7FFF + ((bits >> 16) & 1)
        return ((bits + to_even) >> 16).astype(np.uint16)

    def fetched(self, array: Array) -> Array:
        """Return what lay on the device as float32, in double precision float64."""
        if self.cudnn == BFLOAT16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(np.float64 if self.cudnn == DOUBLE else np.float32)


ELEMENTS: Mapping[str, Elements] = {
    "fp32": Elements(np.float32, FLOAT, _R_32F, FLOAT, FUSED_MULTIPLY_ADD, _COMPUTE_32F),
    "tf32": Elements(np.float32, FLOAT, _R_32F, FLOAT, _TENSOR_CORES, _COMPUTE_32F_TF32),
    "fp64": Elements(np.float64, DOUBLE, _R_64F, DOUBLE, _DEFAULT, _COMPUTE_64F),
    "fp16": Elements(np.float16, HALF, _R_16F, FLOAT, _TENSOR_CORES, _COMPUTE_32F),
    "bf16": Elements(np.uint16, BFLOAT16, _R_16BF, FLOAT, _TENSOR_CORES, _COMPUTE_32F),
}
