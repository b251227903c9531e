"""MXNet's functions for an update that writes over its arrays.

An executor takes a rate that changes as an array, and multiplying by one takes three times as long as by a number; its
results have to be copied.
"""

from __future__ import annotations

from typing import Any


class ArrayFunctions:
    """As :class:`benchmarker.plugins.common.in_place.Functions` has them, over any array."""

    joins = True

    def __init__(self) -> None:
        from mxnet import nd

        self._nd: Any = nd
        self._own: Any = nd._internal

    def add(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:  # over its second operand, oneDNN takes thrice as long
            a, b = b, a
        if isinstance(b, float):
            return self._own._plus_scalar(a, scalar=b, out=into)
        return self._nd.elemwise_add(a, b, out=into)

    def sub(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float):
            return self._own._rminus_scalar(b, scalar=a, out=into)
        if isinstance(b, float):
            return self._own._minus_scalar(a, scalar=b, out=into)
        return self._nd.elemwise_sub(a, b, out=into)

    def mul(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:
            a, b = b, a
        if isinstance(b, float):
            return self._own._mul_scalar(a, scalar=b, out=into)
        return self._nd.elemwise_mul(a, b, out=into)

    def div(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float):
            return self._own._rdiv_scalar(b, scalar=a, out=into)
        if isinstance(b, float):
            return self._own._div_scalar(a, scalar=b, out=into)
        return self._nd.elemwise_div(a, b, out=into)

    def plus_scaled(self, x: Any, y: Any, number: float = 1.0, *, alpha: float, into: Any) -> Any:
        # What MXNet calls an update by gradient descent is this sum.
        return self._nd.sgd_update(x, y, lr=-alpha * number, wd=0.0, out=into)

    def affine(self, x: Any, *, alpha: float, beta: float, into: Any) -> Any:
        if beta == 0.0:
            return self._own._mul_scalar(x, scalar=alpha, out=into)
        if alpha == 1.0:
            return self._own._plus_scalar(x, scalar=beta, out=into)
        scaled = self._own._mul_scalar(x, scalar=alpha, out=into)
        return self._own._plus_scalar(scaled, scalar=beta, out=into)

    def sqrt(self, x: Any, *, into: Any) -> Any:
        return self._nd.sqrt(x, out=into)

    def abs(self, x: Any, *, into: Any) -> Any:
        return self._nd.abs(x, out=into)

    def clip(self, x: Any, *, min: float, max: float, into: Any) -> Any:
        return self._nd.clip(x, a_min=min, a_max=max, out=into)

    def copy(self, value: Any, into: Any) -> object:
        return value.copyto(into)
