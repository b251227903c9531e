"""Paddle's functions for an update that writes over its tensors."""

from __future__ import annotations

from typing import Any


class TensorFunctions:
    """As :class:`benchmarker.plugins.common.in_place.Functions` has them, over one of the operands."""

    def __init__(self) -> None:
        import paddle

        self._paddle: Any = paddle

    def _scaled(self, x: Any, scale: float, bias: float, into: Any) -> Any:
        return x.scale_(scale, bias) if into is x else self._paddle.scale(x, scale, bias)

    def add(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:
            a, b = b, a
        if isinstance(b, float):
            return self._scaled(a, 1.0, b, into)
        return a.add_(b) if into is a else self._paddle.add(a, b)

    def sub(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float):
            return self._scaled(b, -1.0, a, into)
        if isinstance(b, float):
            return self._scaled(a, 1.0, -b, into)
        if into is b:
            return b.scale_(-1.0).add_(a)
        return a.subtract_(b) if into is a else self._paddle.subtract(a, b)

    def mul(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:
            a, b = b, a
        if isinstance(b, float):
            return self._scaled(a, b, 0.0, into)
        return a.multiply_(b) if into is a else self._paddle.multiply(a, b)

    def div(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(b, float):
            return self._scaled(a, 1.0 / b, 0.0, into)
        inverse = b.reciprocal_() if into is b else None
        if isinstance(a, float):
            inverse = self._paddle.reciprocal(b) if inverse is None else inverse
            return inverse.scale_(a)
        if inverse is not None:
            return inverse.multiply_(a)
        return a.divide_(b) if into is a else self._paddle.divide(a, b)

    def affine(self, x: Any, *, alpha: float, beta: float, into: Any) -> Any:
        return self._scaled(x, alpha, beta, into)

    def sqrt(self, x: Any, *, into: Any) -> Any:
        return x.sqrt_() if into is x else self._paddle.sqrt(x)

    def abs(self, x: Any, *, into: Any) -> Any:
        return x.abs_() if into is x else self._paddle.abs(x)

    def clip(self, x: Any, *, min: float, max: float, into: Any) -> Any:
        return x.clip_(min, max) if into is x else self._paddle.clip(x, min, max)

    def copy(self, value: Any, into: Any) -> object:
        return self._paddle.assign(value, into)
