"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.attributes import Gemm
from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients, unbroadcast

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class MatrixOperators(ArrayOperators):
    """Matrix products of arrays."""

    def matmul(self, a: Array, b: Array) -> Array:
        if b.ndim == 2:  # one product of all rows is faster than one for each matrix
            return (a.reshape(-1, a.shape[-1]) @ b).reshape(*a.shape[:-1], b.shape[1])
        y: Array = a @ b
        return y

    def gemm(self, a: Array, b: Array, c: Array | None = None, *, product: Gemm) -> Array:
        y: Array = (a.T if product.trans_a else a) @ (b.T if product.trans_b else b)
        if product.alpha != 1.0:
            y *= product.alpha
        if c is not None:
            y += c if product.beta == 1.0 else product.beta * c
        return y

    def causal_mask(self, x: Array) -> Array:
        return np.where(np.tri(x.shape[-1], dtype=bool, like=x), x, x.dtype.type(-np.inf))


def matmul_gradient(call: Call) -> InputGradients:
    """``da = dy b^T``, ``db = a^T dy``, summed where an operand was broadcast."""
    (a, b), (dy,) = call.inputs, call.gradients
    da = db = None
    if call.needed[0]:
        rows = dy.reshape(-1, dy.shape[-1]) if b.ndim == 2 else dy
        da = rows @ b.swapaxes(-1, -2)
        da = da.reshape(a.shape) if b.ndim == 2 else unbroadcast(da, a.shape)
    if call.needed[1] and b.ndim == 2:
        db = a.reshape(-1, a.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])
    elif call.needed[1]:
        db = unbroadcast(a.swapaxes(-1, -2) @ dy, b.shape)
    return da, db


def gemm_gradient(call: Call) -> InputGradients:
    """``da' = alpha dy b'^T``, ``db' = alpha a'^T dy``, transposed back where the operand was."""
    a, b = call.inputs[:2]
    product: Gemm = call.attributes["product"]
    dy = call.gradients[0]
    scaled = dy if product.alpha == 1.0 else product.alpha * dy
    da = db = dc = None
    if call.needed[0]:
        b_used = b.T if product.trans_b else b
        da = b_used @ scaled.T if product.trans_a else scaled @ b_used.T
    if call.needed[1]:
        a_used = a.T if product.trans_a else a
        db = scaled.T @ a_used if product.trans_b else a_used.T @ scaled
    if call.has(2):
        dc = unbroadcast(dy if product.beta == 1.0 else product.beta * dy, call.inputs[2].shape)
    return da, db, dc


def causal_mask_gradient(call: Call) -> InputGradients:
    """Nothing goes back to masked scores."""
    (dy,) = call.gradients
    return (np.where(np.tri(dy.shape[-1], dtype=bool, like=dy), dy, dy.dtype.type(0)),)


GRADIENTS: Gradients = {
    "matmul": matmul_gradient,
    "gemm": gemm_gradient,
    "causal_mask": causal_mask_gradient,
}
