"""Operators on single elements as ONNX nodes."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor

_TYPES = {"float32": 1, "int64": 7, "bool": 9, "float16": 10, "float64": 11}
"""Numbers of element types in ``TensorProto``."""


class ElementwiseOperators(NodeOperators):
    """Arithmetic with broadcasting, activations, casts and dropout."""

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Add", a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Sub", a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Mul", a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Div", a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Min", a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Max", a, b)

    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Pow", a, b)

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        scaled = x if alpha == 1.0 else self._add("Mul", x, self._number(alpha))
        return scaled if beta == 0.0 else self._add("Add", scaled, self._number(beta))

    def relu(self, x: Tensor) -> Tensor:
        return self._add("Relu", x)

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return self._add("LeakyRelu", x, alpha=float(alpha))

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        return self._add("Clip", x, self._number(min), self._number(max))

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._add("Sigmoid", x)

    def tanh(self, x: Tensor) -> Tensor:
        return self._add("Tanh", x)

    def softplus(self, x: Tensor) -> Tensor:
        return self._add("Softplus", x)

    def erf(self, x: Tensor) -> Tensor:
        return self._add("Erf", x)

    def exp(self, x: Tensor) -> Tensor:
        return self._add("Exp", x)

    def log(self, x: Tensor) -> Tensor:
        return self._add("Log", x)

    def log1p(self, x: Tensor) -> Tensor:
        # ONNX has no such operator; near 0 these two round.
        return self._add("Log", self._add("Add", x, self._number(1.0)))

    def expm1(self, x: Tensor) -> Tensor:
        return self._add("Sub", self._add("Exp", x), self._number(1.0))

    def sin(self, x: Tensor) -> Tensor:
        return self._add("Sin", x)

    def cos(self, x: Tensor) -> Tensor:
        return self._add("Cos", x)

    def reciprocal(self, x: Tensor) -> Tensor:
        return self._add("Reciprocal", x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._add("Sqrt", x)

    def abs(self, x: Tensor) -> Tensor:
        return self._add("Abs", x)

    def tan(self, x: Tensor) -> Tensor:
        return self._add("Tan", x)

    def sign(self, x: Tensor) -> Tensor:
        return self._add("Sign", x)

    def floor(self, x: Tensor) -> Tensor:
        return self._add("Floor", x)

    def ceil(self, x: Tensor) -> Tensor:
        return self._add("Ceil", x)

    def round(self, x: Tensor) -> Tensor:
        return self._add("Round", x)

    def quantize_dequantize(
        self,
        x: Tensor,
        *,
        scale: tuple[float, ...],
        zero_point: int = 0,
        axis: int | None = None,
        signed: bool = True,
        bits: int = 8,
    ) -> Tensor:
        if bits == 32:
            return self._in_steps(x, scale, axis)
        steps = scale[0] if axis is None else scale
        zero = np.asarray(zero_point, np.int8 if signed else np.uint8)
        given = self._number(steps), self._constant(zero if axis is None else np.full(len(scale), zero))
        along = {} if axis is None else {"axis": axis}
        return self._add("DequantizeLinear", self._add("QuantizeLinear", x, *given, **along), *given, **along)

    def _in_steps(self, x: Tensor, scale: tuple[float, ...], axis: int | None) -> Tensor:
        """Return ``x`` in whole steps: ONNX quantizes to no more than 16 bits."""
        shape = [1] * len(self._shape(x))
        if axis is not None:
            shape[axis] = len(scale)
        step = self._constant(np.asarray(scale, self._dtype).reshape(shape))
        return self._add("Mul", self._add("Round", self._add("Div", x, step)), step)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Div", a, b)

    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("Mod", a, b)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        return self._add("Cast", x, to=_TYPES[self._dtype if to == "float32" else to])

    def stop_gradient(self, x: Tensor) -> Tensor:
        return x

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return x

    def silu(self, x: Tensor) -> Tensor:
        # ONNX Runtime joins these into one kernel; Swish (opset 24) it takes apart into four nodes, 3 times slower.
        return self._add("Mul", x, self._add("Sigmoid", x))

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        return self._add("Gelu", x, approximate=approximate)
