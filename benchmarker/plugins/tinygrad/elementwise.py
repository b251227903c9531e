"""Operators on single elements in tinygrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarker.graph.operators import Operators, Tensor

_MIN_EXPONENT = -87.0
"""Below it the exponential of the negated value is too large for float32, and gradients through it are no numbers."""
_NEAR = 0.4
"""Up to here a series is more exact than the function itself less a constant."""


def calling(name: str) -> Callable[..., Any]:
    """Return the meaning of an operator that is a method of tinygrad's tensors as it stands."""

    def call(self: Operators, x: Tensor, *xs: Tensor) -> Tensor:
        return getattr(x, name)(*xs)

    return call


class TinygradTensors(Operators):
    """Every tensor is a ``tinygrad.Tensor``, which stands for what is computed when it is realized.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch and dropout drops.
    dropout : bool
        Whether dropout drops at all; off to compare gradients with other frameworks.
    """

    framework = "tinygrad"

    def __init__(self, *, training: bool = False, dropout: bool = True) -> None:
        super().__init__(training=training)
        import tinygrad

        self._tinygrad: Any = tinygrad
        self._tensor: Any = tinygrad.Tensor
        self._drops = training and dropout


class ElementwiseOperators(TinygradTensors):
    """Arithmetic, activations, casts, logic and dropout."""

    add = calling("add")
    sub = calling("sub")
    mul = calling("mul")
    div = calling("div")
    minimum = calling("minimum")
    maximum = calling("maximum")
    pow = calling("pow")
    relu = calling("relu")
    exp = calling("exp")
    log = calling("log")
    sin = calling("sin")
    cos = calling("cos")
    tan = calling("tan")
    softplus = calling("softplus")
    reciprocal = calling("reciprocal")
    sqrt = calling("sqrt")
    abs = calling("abs")
    sign = calling("sign")
    floor = calling("floor")
    ceil = calling("ceil")
    round = calling("round")
    mod = calling("mod")
    equal = calling("eq")
    less = calling("__lt__")
    less_or_equal = calling("__le__")
    logical_and = calling("__and__")
    logical_or = calling("__or__")
    logical_xor = calling("__xor__")
    logical_not = calling("logical_not")
    is_nan = calling("isnan")
    is_inf = calling("isinf")
    where = calling("where")
    stop_gradient = calling("detach")

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        y = x if alpha == 1.0 else x * alpha
        return y if beta == 0.0 else y + beta

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return x.leaky_relu(alpha)

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        return x.clamp(min, max)

    def sigmoid(self, x: Tensor) -> Tensor:
        return x.clamp(_MIN_EXPONENT).sigmoid()

    def tanh(self, x: Tensor) -> Tensor:
        return x.clamp(_MIN_EXPONENT / 2).tanh()

    def erf(self, x: Tensor) -> Tensor:
        if not self.training:
            return x.erf()
        # Its own is a polynomial that is near the function, while the polynomial's slope is not that near the slope.
        fixed = x.detach()
        slope = (fixed * -fixed).exp() * (2.0 / math.sqrt(math.pi))
        return fixed.erf() + slope * (x - fixed)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        if approximate == "tanh" or self.training:
            # Of the functions above, whose gradients are right.
            return super().gelu(x, approximate=approximate)
        return x.gelu(approximate)

    def log1p(self, x: Tensor) -> Tensor:
        # The area tangent's series, of which tinygrad has nothing: (1 + x) - 1 it takes for x.
        s = x / (x + 2.0)
        square, terms = s * s, 6
        series = 1.0 / (2 * terms + 1)
        for k in reversed(range(terms)):
            series = series * square + 1.0 / (2 * k + 1)
        return (x.abs() < _NEAR).where(2.0 * s * series, (x + 1.0).log())

    def expm1(self, x: Tensor) -> Tensor:
        series: Any = 1.0
        for k in range(10, 1, -1):
            series = x * series / k + 1.0
        return (x.abs() < _NEAR).where(x * series, x.exp() - 1.0)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return a.div(b, rounding_mode="trunc")

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        return x.detach().cast(self.dtype(to))

    def dtype(self, name: str) -> Any:
        """Return tinygrad's type of the graph's; integers are those that it indexes with."""
        types = self._tinygrad.dtypes
        return {"float32": types.float32, "bool": types.bool}.get(name, types.int32)

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return x.softmax(axis)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return x.log_softmax(axis)

    def causal_mask(self, x: Tensor) -> Tensor:
        length = x.shape[-1]
        seen = self._tensor.ones(length, length, dtype=self._tinygrad.dtypes.bool, buffer=False).tril()
        return seen.where(x, -math.inf)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        if not self._drops:
            return x
        with self._tinygrad.Context(TRAINING=1):
            return x.dropout(ratio)
