"""Operators on single elements."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive, stopping


class ElementwiseOperators(Vocabulary):
    """Operators on single elements."""

    @primitive
    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """``a + b`` with broadcasting."""
        return self._unsupported("add")

    @primitive
    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        """``a - b`` with broadcasting."""
        return self._unsupported("sub")

    @primitive
    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        """``a * b`` with broadcasting."""
        return self._unsupported("mul")

    @primitive
    def div(self, a: Tensor, b: Tensor) -> Tensor:
        """``a / b`` with broadcasting."""
        return self._unsupported("div")

    @primitive
    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        """The smaller one of each two elements (ONNX ``Min``), with broadcasting.

        The gradient goes to it; where both are equal, it is shared in any way.
        """
        return self._unsupported("minimum")

    @primitive
    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        """The larger one of each two elements (ONNX ``Max``), with broadcasting; the gradient as of ``minimum``."""
        return self._unsupported("maximum")

    @primitive
    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        """``a`` to the power of ``b`` (ONNX ``Pow``) with broadcasting; ``a`` is positive, or ``b`` whole numbers."""
        return self._unsupported("pow")

    @primitive
    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        """``alpha * x + beta`` with constants (ONNX ``Mul`` and ``Add``)."""
        return self._unsupported("affine")

    @primitive
    def relu(self, x: Tensor) -> Tensor:
        """``max(x, 0)``; the gradient at 0 is one from 0 to 1, here 0."""
        return self._unsupported("relu")

    @primitive
    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        """``x`` where it is positive, else ``alpha * x``."""
        return self._unsupported("leaky_relu")

    @primitive
    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        """``x`` held between ``min`` and ``max``; the gradient is 0 outside. ReLU6 is ``min=0, max=6``.

        At a bound it is one from 0 to 1.
        """
        return self._unsupported("clip")

    @primitive
    def sigmoid(self, x: Tensor) -> Tensor:
        """``1 / (1 + exp(-x))``."""
        return self._unsupported("sigmoid")

    @primitive
    def tanh(self, x: Tensor) -> Tensor:
        """Hyperbolic tangent."""
        return self._unsupported("tanh")

    @primitive
    def softplus(self, x: Tensor) -> Tensor:
        """``log(1 + exp(x))``, which does not overflow."""
        return self._unsupported("softplus")

    @primitive
    def erf(self, x: Tensor) -> Tensor:
        """Error function."""
        return self._unsupported("erf")

    @primitive
    def exp(self, x: Tensor) -> Tensor:
        """Exponential."""
        return self._unsupported("exp")

    @primitive
    def log(self, x: Tensor) -> Tensor:
        """Natural logarithm."""
        return self._unsupported("log")

    @primitive
    def log1p(self, x: Tensor) -> Tensor:
        """``log(1 + x)``, exact near 0 too."""
        return self._unsupported("log1p")

    @primitive
    def expm1(self, x: Tensor) -> Tensor:
        """``exp(x) - 1``, exact near 0 too."""
        return self._unsupported("expm1")

    @primitive
    def sin(self, x: Tensor) -> Tensor:
        """Sine, of radians."""
        return self._unsupported("sin")

    @primitive
    def cos(self, x: Tensor) -> Tensor:
        """Cosine, of radians."""
        return self._unsupported("cos")

    @primitive
    def reciprocal(self, x: Tensor) -> Tensor:
        """``1 / x``."""
        return self._unsupported("reciprocal")

    @primitive
    def sqrt(self, x: Tensor) -> Tensor:
        """Square root."""
        return self._unsupported("sqrt")

    @primitive
    def abs(self, x: Tensor) -> Tensor:
        """Absolute value; the gradient at 0 is one from -1 to 1, here 0."""
        return self._unsupported("abs")

    @primitive
    def tan(self, x: Tensor) -> Tensor:
        """Tangent, of radians."""
        return self._unsupported("tan")

    @stopping
    @primitive
    def sign(self, x: Tensor) -> Tensor:
        """-1, 0 or 1 (ONNX ``Sign``)."""
        return self._unsupported("sign")

    @stopping
    @primitive
    def floor(self, x: Tensor) -> Tensor:
        """The next whole number downwards."""
        return self._unsupported("floor")

    @stopping
    @primitive
    def ceil(self, x: Tensor) -> Tensor:
        """The next whole number upwards."""
        return self._unsupported("ceil")

    @stopping
    @primitive
    def round(self, x: Tensor) -> Tensor:
        """The nearest whole number, of two the even one."""
        return self._unsupported("round")

    @stopping
    @primitive
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
        """``x`` as 8 bits hold it: ``(q - zero_point) * scale`` with ``q = clip(round(x / scale) + zero_point)``.

        ``q`` is from -128 to 127 if ``signed``, else from 0 to 255; ``round`` takes the even one of two. ``scale`` is
        one number, or one for each index of ``axis`` (ONNX ``QuantizeLinear`` and ``DequantizeLinear``). A bias has 32
        ``bits``, signed, about zero.
        """
        return self._unsupported("quantize_dequantize")

    @stopping
    @primitive
    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        """The quotient of integers, rounded towards 0 (ONNX ``Div``), with broadcasting."""
        return self._unsupported("integer_div")

    @stopping
    @primitive
    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        """The remainder of integers, with the sign of ``b`` (ONNX ``Mod``), with broadcasting."""
        return self._unsupported("mod")

    @stopping
    @primitive
    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        """``x`` as another type (ONNX ``Cast``): ``float32`` (the program's floating type), ``int64`` or ``bool``.

        Real numbers are cut off towards 0; what is not 0 is true.
        """
        return self._unsupported("cast")

    @stopping
    @primitive
    def stop_gradient(self, x: Tensor) -> Tensor:
        """``x``, through which nothing flows back (ONNX ``Identity``)."""
        return self._unsupported("stop_gradient")
