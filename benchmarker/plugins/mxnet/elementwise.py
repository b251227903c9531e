"""Operators on single elements, and the softmax, as MXNet symbols."""

from __future__ import annotations

import math

import numpy as np

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators

_FEW = 16
"""Classes up to which MXNet's own logarithm of the softmax is as fast as oneDNN's (128 rows of 10: 36 and
34 us with the gradient; 1024 rows of 32: 239 and 77); more of them are in ``docs/decisions/frameworks.md``."""


class ElementwiseOperators(SymbolOperators):
    """Arithmetic, activations, dropout and softmax."""

    def relu(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="relu")

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="sigmoid")

    def tanh(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="tanh")

    def softplus(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="softrelu")

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return self._mx.LeakyReLU(x, act_type="leaky", slope=alpha)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        if approximate != "none":
            return super().gelu(x, approximate=approximate)
        return self._mx.LeakyReLU(x, act_type="gelu")

    def huber(self, x: Tensor, *, delta: float = 1.0) -> Tensor:
        # The native operator turns at 1 / scalar^2 and has slope 1 beyond.
        y = self._mx.smooth_l1(x, scalar=1.0 / math.sqrt(delta))
        return y if delta == 1.0 else y * delta

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._binary("add", a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self._binary("sub", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.square(a) if a is b else self._binary("mul", a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._binary("div", a, b)

    def _binary(self, name: str, a: Tensor, b: Tensor) -> Tensor:
        kind = "elemwise" if self._shape(a) == self._shape(b) else "broadcast"
        return getattr(self._mx, f"{kind}_{name}")(a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_minimum(a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_maximum(a, b)

    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_power(a, b)

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        x = x if alpha == 1.0 else x * alpha
        return x if beta == 0.0 else x + beta

    def exp(self, x: Tensor) -> Tensor:
        return self._mx.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return self._mx.log(x)

    def log1p(self, x: Tensor) -> Tensor:
        return self._mx.log1p(x)

    def expm1(self, x: Tensor) -> Tensor:
        return self._mx.expm1(x)

    def sin(self, x: Tensor) -> Tensor:
        return self._mx.sin(x)

    def cos(self, x: Tensor) -> Tensor:
        return self._mx.cos(x)

    def reciprocal(self, x: Tensor) -> Tensor:
        return self._mx.reciprocal(x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._mx.sqrt(x)

    def abs(self, x: Tensor) -> Tensor:
        return self._mx.abs(x)

    def erf(self, x: Tensor) -> Tensor:
        return self._mx.erf(x)

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        return self._mx.clip(x, a_min=min, a_max=max)

    def tan(self, x: Tensor) -> Tensor:
        return self._mx.tan(x)

    def sign(self, x: Tensor) -> Tensor:
        return self._mx.sign(x)

    def floor(self, x: Tensor) -> Tensor:
        return self._mx.floor(x)

    def ceil(self, x: Tensor) -> Tensor:
        return self._mx.ceil(x)

    def round(self, x: Tensor) -> Tensor:
        # Its own takes halves down, where the even neighbour is meant.
        below = self._mx.floor(x)
        over = x - below
        return self._mx.where(over == 0.5, 2.0 * self._mx.ceil(0.5 * below), below + (over > 0.5))

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._binary("div", a, b)  # of integers C++'s own

    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_mod(a, b)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        if to == "bool":
            return self._truth(x != 0, x)
        return self._mx.cast(x, dtype="int32" if to == "int64" else self._dtype)

    # --- truth values, which are 0 and 1 in the program's floating type ------------------------

    def _truth(self, compared: Tensor, operand: Tensor) -> Tensor:
        """Return truth values of a comparison, which MXNet gives in the operands' type."""
        return self._mx.cast(compared, dtype=self._dtype) if self._is_integer(operand) else compared

    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._truth(self._mx.broadcast_equal(a, b), a)

    def less(self, a: Tensor, b: Tensor) -> Tensor:
        return self._truth(self._mx.broadcast_lesser(a, b), a)

    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self._truth(self._mx.broadcast_lesser_equal(a, b), a)

    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_logical_and(a, b)

    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_logical_or(a, b)

    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        return self._mx.broadcast_logical_xor(a, b)

    def logical_not(self, x: Tensor) -> Tensor:
        return self._mx.logical_not(x)

    def is_nan(self, x: Tensor) -> Tensor:
        return self._mx.broadcast_not_equal(x, x)

    def is_inf(self, x: Tensor) -> Tensor:
        return self._mx.abs(x) == math.inf

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        shape = np.broadcast_shapes(*map(self._shape, (condition, a, b)))
        return self._mx.where(*(self._broadcast(x, shape) for x in (condition, a, b)))

    def stop_gradient(self, x: Tensor) -> Tensor:
        return self._mx.BlockGrad(x)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return self._mx.Dropout(x, p=ratio) if self._dropout and ratio else x

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._mx.softmax(x, axis=axis)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        # oneDNN's is off by 5e-7 throughout, which few classes do not average out: 2e-5 in the gradient of a
        # bias of two. Given a temperature MXNet takes its own kernel, which is no slower for so few.
        own = {"temperature": 1.0} if self._shape(x)[axis] <= _FEW else {}
        return self._mx.log_softmax(x, axis=axis, **own)
