"""Operators on single elements, and the softmax, in PyTorch."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators, shape_of


class ElementwiseOperators(TracedOperators):
    """Arithmetic with broadcasting, activations, casts and dropout."""

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.add(a, b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.sub(a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.mul(a, b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.div(a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.minimum(a, b)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.maximum(a, b)

    def pow(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.pow(a, b)

    def affine(self, x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
        scaled = x if alpha == 1.0 else self._torch.mul(x, alpha)
        return scaled if beta == 0.0 else self._torch.add(scaled, beta)

    def exp(self, x: Tensor) -> Tensor:
        return self._torch.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return self._torch.log(x)

    def log1p(self, x: Tensor) -> Tensor:
        return self._torch.log1p(x)

    def expm1(self, x: Tensor) -> Tensor:
        return self._torch.expm1(x)

    def sin(self, x: Tensor) -> Tensor:
        return self._torch.sin(x)

    def cos(self, x: Tensor) -> Tensor:
        return self._torch.cos(x)

    def reciprocal(self, x: Tensor) -> Tensor:
        return self._torch.reciprocal(x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._torch.sqrt(x)

    def abs(self, x: Tensor) -> Tensor:
        return self._torch.abs(x)

    def erf(self, x: Tensor) -> Tensor:
        return self._torch.erf(x)

    def relu(self, x: Tensor) -> Tensor:
        return self._torch.relu(x)

    def leaky_relu(self, x: Tensor, *, alpha: float = 0.01) -> Tensor:
        return self._functional.leaky_relu(x, alpha)

    def clip(self, x: Tensor, *, min: float, max: float) -> Tensor:
        # torch.clamp computes the same, but its backward pass took ten times as long.
        return self._functional.hardtanh(x, min, max)

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._torch.sigmoid(x)

    def tanh(self, x: Tensor) -> Tensor:
        return self._torch.tanh(x)

    def silu(self, x: Tensor) -> Tensor:
        return self._functional.silu(x)

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        return self._functional.gelu(x, approximate=approximate)

    def softplus(self, x: Tensor) -> Tensor:
        # Beyond 20 PyTorch returns x itself, which is off by 2e-9 at most.
        return self._functional.softplus(x)

    def huber(self, x: Tensor, *, delta: float = 1.0) -> Tensor:
        x, target = self._difference(x)
        return self._functional.huber_loss(x, target, reduction="none", delta=delta)

    def _difference(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return two tensors of one shape whose difference is ``x``: those it was made of, if so."""
        node = x.node
        shape = shape_of(node)
        if node.target is not self._torch.sub or shape is None or {shape_of(a) for a in node.args} != {shape}:
            return x, self._torch.zeros_like(x)
        minuend, subtrahend = (self._torch.fx.Proxy(argument, x.tracer) for argument in node.args)
        return minuend, subtrahend

    def tan(self, x: Tensor) -> Tensor:
        return self._torch.tan(x)

    def sign(self, x: Tensor) -> Tensor:
        return self._torch.sign(x)

    def floor(self, x: Tensor) -> Tensor:
        return self._torch.floor(x)

    def ceil(self, x: Tensor) -> Tensor:
        return self._torch.ceil(x)

    def round(self, x: Tensor) -> Tensor:
        return self._torch.round(x)

    def integer_div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.div(a, b, rounding_mode="trunc")

    def mod(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.remainder(a, b)

    def cast(self, x: Tensor, *, to: str = "float32") -> Tensor:
        return x.to(self._dtype if to == "float32" else getattr(self._torch, to))

    def stop_gradient(self, x: Tensor) -> Tensor:
        return x.detach()

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return self._torch.dropout(x, ratio, True) if self._drops and ratio > 0.0 else x

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._torch.softmax(x, axis)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._torch.log_softmax(x, axis)
