"""Paddle's functions for an update that writes over its tensors."""

from __future__ import annotations

from typing import Any


class TensorFunctions:
    """As :class:`benchmarker.plugins.common.in_place.Functions` has them.

    Paddle's functions write over an operand: it is copied first where the result belongs elsewhere, which is quicker
    than to take a new tensor.
    """

    joins = False

    def __init__(self) -> None:
        import paddle

        self._paddle: Any = paddle

    def _moved(self, x: Any, into: Any) -> Any:
        """Return ``into`` with what is in ``x``."""
        return into if into is x else self._paddle.assign(x, into)

    def add(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:
            a, b = b, a
        if isinstance(b, float):
            return self._moved(a, into).scale_(1.0, b)
        return self._moved(a, into).add_(b)

    def sub(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(b, float):
            return self._moved(a, into).scale_(1.0, -b)
        if isinstance(a, float):
            return self._moved(b, into).scale_(-1.0, a)
        return b.scale_(-1.0).add_(a) if into is b else self._moved(a, into).subtract_(b)

    def mul(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(a, float) or into is b:
            a, b = b, a
        if isinstance(b, float):
            return self._moved(a, into).scale_(b)
        return self._moved(a, into).multiply_(b)

    def div(self, a: Any, b: Any, *, into: Any) -> Any:
        if isinstance(b, float):
            return self._moved(a, into).scale_(1.0 / b)
        if isinstance(a, float):
            return self._moved(b, into).reciprocal_().scale_(a)
        return b.reciprocal_().multiply_(a) if into is b else self._moved(a, into).divide_(b)

    def affine(self, x: Any, *, alpha: float, beta: float, into: Any) -> Any:
        return self._moved(x, into).scale_(alpha, beta)

    def sqrt(self, x: Any, *, into: Any) -> Any:
        return self._moved(x, into).sqrt_()

    def abs(self, x: Any, *, into: Any) -> Any:
        return self._moved(x, into).abs_()

    def clip(self, x: Any, *, min: float, max: float, into: Any) -> Any:
        return self._moved(x, into).clip_(min, max)

    def copy(self, value: Any, into: Any) -> object:
        return self._paddle.assign(value, into)
