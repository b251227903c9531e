"""Products of matrices as calls of cuBLAS; activations as calls of cuDNN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Operators
from benchmarker.plugins.cudnn.library import Buffer
from benchmarker.plugins.cudnn.place import Call, Place, Shape

_PLAIN, _TRANSPOSED = 0, 1
_ANY_ALGORITHM = -1
_SIGMOID, _RELU, _TANH = 0, 1, 2
_PROPAGATE_NAN = 1


class ProductOperators(Operators):
    """The operators of cuBLAS. Bound to a place, each returns what the node calls."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def gemm(self, a: Any, b: Any, c: Any = None, *, product: Gemm) -> Call:
        place = self._place
        multiply = _product(place, place.shape(0), place.shape(1), product)
        output = place.memory(place.results[0])
        add = place.adding(place.shape(2), place.results[0], product.beta) if c is not None else None

        def call(a: Buffer, b: Buffer, c: Buffer | None = None) -> Buffer:
            multiply(a, b, output)
            if add is not None and c is not None:
                add(c.address, output.address)
            return output

        return call

    def matmul(self, a: Any, b: Any) -> Call:
        place = self._place
        first, second = place.shape(0), place.shape(1)
        if len(second) == 2:
            first = (math.prod(first[:-1]), first[-1])
        outer = place.results[0][:-2] if len(second) > 2 else ()
        multiply = _product(place, first, second, Gemm(), outer)
        output = place.memory(place.results[0])

        def call(a: Buffer, b: Buffer) -> Buffer:
            multiply(a, b, output)
            return output

        return call

    def reshape(self, x: Any, *, shape: Shape) -> Call:
        return lambda x: x

    def relu(self, x: Any) -> Call:
        return self._activation(_RELU)

    def sigmoid(self, x: Any) -> Call:
        return self._activation(_SIGMOID)

    def tanh(self, x: Any) -> Call:
        return self._activation(_TANH)

    def _activation(self, mode: int) -> Call:
        place = self._place
        library, output = place.library, place.memory(place.results[0])
        what = library.descriptor("Activation", "ActivationDescriptor", mode, _PROPAGATE_NAN, 0.0)
        flat = place.tensor((1, 1, 1, math.prod(place.results[0])))
        one, zero = place.factor(1.0), place.factor(0.0)

        def call(x: Buffer) -> Buffer:
            given = what.pointer, one, flat.pointer, x.address, zero, flat.pointer, output.address
            library.call("cudnnActivationForward", library.cudnn, *given)
            return output

        return call


def _product(place: Place, a: Shape, b: Shape, product: Gemm, outer: Sequence[int] = ()) -> Any:
    """Return what multiplies matrices, as many as ``outer`` has.

    cuBLAS has columns one after the other where the graph has rows, so it is told the transposed product: of the second
    operand with the first.
    """
    elements, library = place.elements, place.library
    m, k = a[-2:][::-1] if product.trans_a else a[-2:]
    n = b[-2] if product.trans_b else b[-1]
    steps = [_step(shape, outer) for shape in (b, a)]
    how = [_TRANSPOSED if transposed else _PLAIN for transposed in (product.trans_b, product.trans_a)]
    alpha, zero = place.factor(product.alpha), place.factor(0.0)
    count = math.prod(outer)

    def multiply(first: Buffer, second: Buffer, result: Buffer) -> None:
        library.call(
            "cublasGemmStridedBatchedEx",
            *(library.cublas, *how, n, m, k, alpha),
            *(second.address, elements.cuda, b[-1], steps[0]),
            *(first.address, elements.cuda, a[-1], steps[1]),
            *(zero, result.address, elements.cuda, n, m * n),
            *(count, elements.compute, _ANY_ALGORITHM),
        )

    return multiply


def _step(shape: Shape, outer: Sequence[int]) -> int:
    """Return the elements from one matrix of an operand to the next; 0 where the same one is taken each time.

    Raises
    ------
    UnsupportedError
        If they are not equally far apart.
    """
    own = shape[:-2]
    if math.prod(own) == 1:
        return 0
    if (1,) * (len(outer) - len(own)) + tuple(own) != tuple(outer):
        raise UnsupportedError(
            f"cuBLAS multiplies matrices that are equally far apart, got {own} of {tuple(outer)}"
        )
    return shape[-2] * shape[-1]
