"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients, unbroadcast

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class LogicOperators(ArrayOperators):
    """Operators that give arrays of truth values or take them."""

    def equal(self, a: Array, b: Array) -> Array:
        return np.equal(a, b)

    def less(self, a: Array, b: Array) -> Array:
        return np.less(a, b)

    def less_or_equal(self, a: Array, b: Array) -> Array:
        return np.less_equal(a, b)

    def logical_and(self, a: Array, b: Array) -> Array:
        return np.logical_and(a, b)

    def logical_or(self, a: Array, b: Array) -> Array:
        return np.logical_or(a, b)

    def logical_xor(self, a: Array, b: Array) -> Array:
        return np.logical_xor(a, b)

    def logical_not(self, x: Array) -> Array:
        return np.logical_not(x)

    def is_nan(self, x: Array) -> Array:
        return np.isnan(x)

    def is_inf(self, x: Array) -> Array:
        return np.isinf(x)

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        return np.where(condition, a, b)


def where_gradient(call: Call) -> InputGradients:
    """To the one that was chosen; of integers nothing is asked."""
    (condition, a, b), (dy,) = call.inputs, call.gradients
    return (
        None,
        unbroadcast(np.where(condition, dy, 0), a.shape),
        unbroadcast(np.where(condition, 0, dy), b.shape),
    )


GRADIENTS: Gradients = {"where": where_gradient}
