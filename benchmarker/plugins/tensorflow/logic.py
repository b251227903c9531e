"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Logic(Arranging):
    """Operators that give truth values or take them; a tensor's axes stay as they stand."""

    def _one(self, function: Callable[[Any], Any], x: Tensor) -> Tensor:
        x = self.settled(x)
        return Tensor(function(self.value(x)), x.order)

    def equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.equal, a, b)

    def less(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.less, a, b)

    def less_or_equal(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.less_equal, a, b)

    def logical_and(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.logical_and, a, b)

    def logical_or(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.logical_or, a, b)

    def logical_xor(self, a: Tensor, b: Tensor) -> Tensor:
        return self.pairwise(self.tf.not_equal, a, b)

    def logical_not(self, x: Tensor) -> Tensor:
        return self._one(self.tf.logical_not, x)

    def is_nan(self, x: Tensor) -> Tensor:
        return self._one(self.tf.math.is_nan, x)

    def is_inf(self, x: Tensor) -> Tensor:
        return self._one(self.tf.math.is_inf, x)

    def where(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        (chosen, left, right), order = self.together(condition, a, b)
        return Tensor(self.tf.where(chosen, left, right), order)
