"""The functions of Chainer's arrays, NumPy's or CuPy's, for an update that writes over them."""

from __future__ import annotations

from typing import Any


class ArrayFunctions:
    """As :class:`benchmarker.plugins.common.in_place.Functions` has them, over any array.

    Parameters
    ----------
    xp : module
        That of the arrays: NumPy or CuPy.
    """

    joins = False

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def add(self, a: Any, b: Any, *, into: Any) -> Any:
        return self._xp.add(a, b, out=into)

    def sub(self, a: Any, b: Any, *, into: Any) -> Any:
        return self._xp.subtract(a, b, out=into)

    def mul(self, a: Any, b: Any, *, into: Any) -> Any:
        return self._xp.multiply(a, b, out=into)

    def div(self, a: Any, b: Any, *, into: Any) -> Any:
        return self._xp.true_divide(a, b, out=into)

    def affine(self, x: Any, *, alpha: float, beta: float, into: Any) -> Any:
        if alpha == 1.0:
            return self._xp.add(x, beta, out=into)
        scaled = self._xp.multiply(x, alpha, out=into)
        return scaled if beta == 0.0 else self._xp.add(scaled, beta, out=scaled)

    def sqrt(self, x: Any, *, into: Any) -> Any:
        return self._xp.sqrt(x, out=into)

    def abs(self, x: Any, *, into: Any) -> Any:
        return self._xp.absolute(x, out=into)

    def clip(self, x: Any, *, min: float, max: float, into: Any) -> Any:
        return self._xp.clip(x, min, max, out=into)

    def copy(self, value: Any, into: Any) -> None:
        into[...] = value
