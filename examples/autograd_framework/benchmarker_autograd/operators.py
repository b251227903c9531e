"""The meaning of each operator: functions of ``autograd.numpy``, which know their own gradients."""

from __future__ import annotations

from typing import Any

from benchmarker.api import Gemm, Operators

Array = Any


class AutogradOperators(Operators):
    """Every tensor is an array, or autograd's box around one."""

    def __init__(self, *, training: bool = False) -> None:
        super().__init__(training=training)
        import autograd.numpy as np

        self._np = np

    # --- single elements ---------------------------------------------------------------------

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def div(self, a: Array, b: Array) -> Array:
        return a / b

    def affine(self, x: Array, *, alpha: float = 1.0, beta: float = 0.0) -> Array:
        return alpha * x + beta

    def relu(self, x: Array) -> Array:
        return self._np.where(x > 0, x, 0 * x)

    def sigmoid(self, x: Array) -> Array:
        return 0.5 * self._np.tanh(0.5 * x) + 0.5

    def tanh(self, x: Array) -> Array:
        return self._np.tanh(x)

    def exp(self, x: Array) -> Array:
        return self._np.exp(x)

    def log(self, x: Array) -> Array:
        return self._np.log(x)

    def sqrt(self, x: Array) -> Array:
        return self._np.sqrt(x)

    def sin(self, x: Array) -> Array:
        return self._np.sin(x)

    def cos(self, x: Array) -> Array:
        return self._np.cos(x)

    def abs(self, x: Array) -> Array:
        return self._np.abs(x)

    # --- products ----------------------------------------------------------------------------

    def matmul(self, a: Array, b: Array) -> Array:
        return self._np.matmul(a, b)

    def gemm(self, a: Array, b: Array, c: Array | None = None, *, product: Gemm) -> Array:
        left, right = a.T if product.trans_a else a, b.T if product.trans_b else b
        found = self._np.dot(left, right)
        found = found if product.alpha == 1.0 else product.alpha * found
        return found if c is None else found + (c if product.beta == 1.0 else product.beta * c)

    # --- shapes and sums ---------------------------------------------------------------------

    def reshape(self, x: Array, *, shape: tuple[int, ...]) -> Array:
        return self._np.reshape(x, [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])

    def transpose(self, x: Array, *, perm: tuple[int, ...]) -> Array:
        return self._np.transpose(x, perm)

    def concat(self, *xs: Array, axis: int) -> Array:
        return self._np.concatenate(xs, axis)

    def reduce_sum(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return self._np.sum(x, axis=axes or None, keepdims=keepdims)

    def reduce_mean(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return self._np.mean(x, axis=axes or None, keepdims=keepdims)

    def reduce_max(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return self._np.max(x, axis=axes or None, keepdims=keepdims)

    # --- softmax and its loss ----------------------------------------------------------------

    def softmax(self, x: Array, *, axis: int = -1) -> Array:
        return self._np.exp(self.log_softmax(x, axis=axis))

    def log_softmax(self, x: Array, *, axis: int = -1) -> Array:
        np = self._np
        shifted = x - np.max(x, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    def softmax_cross_entropy_loss(
        self,
        scores: Array,
        labels: Array,
        weights: Array | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Array:
        np, classes = self._np, scores.shape[1]
        rest = [1] * (labels.ndim - 1)
        chosen = labels[:, None] == np.arange(classes).reshape(1, classes, *rest)
        if ignore_index is not None:
            chosen = chosen & (labels != ignore_index)[:, None]
        share = chosen.astype(scores.dtype)
        if weights is not None:
            share = share * np.reshape(weights, [1, classes, *rest])
        losses = -np.sum(share * self.log_softmax(scores, axis=1), axis=1)
        if reduction == "none":
            return losses
        return np.sum(losses) / np.sum(share) if reduction == "mean" else np.sum(losses)
