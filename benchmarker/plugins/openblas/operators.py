"""Products of matrices as calls of ``cblas_?gemm`` that write into memory which is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Operators
from benchmarker.plugins.openblas.library import ROW_MAJOR, TRANSPOSED, Product
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Call = Callable[..., "Operand"]
"""What a node becomes: it takes and gives operands."""


class Operand:
    """An array in C order and where it is, which NumPy takes a microsecond to tell."""

    __slots__ = ("address", "array")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.address: int = array.ctypes.data


@dataclass(frozen=True)
class Place:
    """Where a node is bound: the shapes of its inputs, and of the output that is written each time.

    Parameters
    ----------
    product : callable
        ``cblas_sgemm`` or ``cblas_dgemm``.
    shapes : tuple of shape
        Of the inputs that are there.
    output : Operand
        The memory of the result.
    """

    product: Product
    shapes: tuple[tuple[int, ...], ...]
    output: Operand


class OpenblasOperators(Operators):
    """The operators that a BLAS has. Bound to a place, each returns what the node calls."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def gemm(self, a: Any, b: Any, c: Any = None, *, product: Gemm) -> Call:
        place, output = self._place, self._place.output
        (rows, columns), (m, n) = place.shapes[0], output.array.shape
        k = rows if product.trans_a else columns
        widths = columns, place.shapes[1][1]
        first = ROW_MAJOR, TRANSPOSED[product.trans_a], TRANSPOSED[product.trans_b], m, n, k, product.alpha
        multiply, beta, address = place.product, product.beta, output.address

        def call(a: Operand, b: Operand) -> Operand:
            multiply(*first, a.address, widths[0], b.address, widths[1], 0.0, address, n)
            return output

        def call_and_add(a: Operand, b: Operand, c: Operand) -> Operand:
            np.copyto(output.array, c.array)
            multiply(*first, a.address, widths[0], b.address, widths[1], beta, address, n)
            return output

        return call if c is None else call_and_add

    def matmul(self, a: Any, b: Any) -> Call:
        place, output = self._place, self._place.output
        m, n = output.array.shape[-2:]
        k = place.shapes[0][-1]
        first = ROW_MAJOR, TRANSPOSED[False], TRANSPOSED[False], m, n, k, 1.0
        bytes_of_each = output.array.itemsize
        offsets = _offsets(place.shapes, output.array.shape, bytes_of_each)
        multiply, address = place.product, output.address

        def call(a: Operand, b: Operand) -> Operand:
            for at_a, at_b, at_y in offsets:
                multiply(*first, a.address + at_a, k, b.address + at_b, n, 0.0, address + at_y, n)
            return output

        return call


def _offsets(
    shapes: tuple[tuple[int, ...], ...], output: tuple[int, ...], size: int
) -> list[tuple[int, ...]]:
    """Return where the matrices of each product begin, in bytes; those of an operand may be broadcast."""
    outer = output[:-2]
    starts: list[Sequence[int]] = []
    for shape in (*shapes, output):
        matrices = np.arange(int(np.prod(shape[:-2]))) * (shape[-2] * shape[-1] * size)
        padded = matrices.reshape((1,) * (len(outer) - len(shape[:-2])) + shape[:-2])
        starts.append(np.broadcast_to(padded, outer).ravel().tolist())
    return list(zip(*starts))
