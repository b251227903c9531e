"""What each primitive computes, counted in floating-point operations from the shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from benchmarker.graph.attributes import Gemm
from benchmarker.graph.custom import registered
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import AveragePooling, MaxPooling
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Application:
    """One primitive on types, as the counting functions see it."""

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    needed: tuple[bool, ...]
    attributes: Mapping[str, Any]
    training: bool

    @property
    def out(self) -> int:
        """Number of elements of the first output."""
        return self.outputs[0].elements

    def input(self, position: int) -> TensorType:
        """Return the type of an input that must be there."""
        found = self.inputs[position]
        assert found is not None
        return found

    def has(self, position: int) -> bool:
        """Whether the optional input at ``position`` is there."""
        return position < len(self.inputs) and self.inputs[position] is not None


def _conv_products(a: Application) -> tuple[int, int]:
    w = a.input(1).shape
    forward = 2 * a.out * math.prod(w[1:])
    return forward, forward * sum(a.needed[:2])


def _gemm_products(a: Application) -> tuple[int, int]:
    rows, columns = a.outputs[0].shape
    forward = 2 * rows * columns * (a.input(0).elements // rows)
    return forward, forward * sum(a.needed[:2])


def _conv_transpose_products(a: Application) -> tuple[int, int]:
    # Every input element meets every tap of the filters of its group.
    w = a.input(1).shape
    forward = 2 * a.input(0).elements * math.prod(w[1:])
    return forward, forward * sum(a.needed[:2])


def _matmul_products(a: Application) -> tuple[int, int]:
    forward = 2 * a.out * a.input(0).shape[-1]
    return forward, forward * sum(a.needed[:2])


def _recurrent_products(gates: int) -> Callable[[Application], tuple[int, int]]:
    def count(a: Application) -> tuple[int, int]:
        steps, batch, features = a.input(0).shape
        directions, _, hidden = a.input(2).shape
        rows = 2 * steps * batch * directions * gates * hidden
        # The state's own gradient goes back through the recurrent product whenever anything's does.
        backward = rows * features * sum(a.needed[:2]) + rows * hidden * (a.needed[2] + any(a.needed))
        return rows * (features + hidden), backward

    return count


PRODUCTS: Mapping[str, Callable[[Application], tuple[int, int]]] = {
    "conv": _conv_products,
    "conv_transpose": _conv_transpose_products,
    "gemm": _gemm_products,
    "matmul": _matmul_products,
    "rnn": _recurrent_products(1),
    "lstm": _recurrent_products(4),
    "gru": _recurrent_products(3),
}
"""Operators with matrix products: forward and backward operations."""


def _gemm_rest(a: Application) -> int:
    product: Gemm = a.attributes["product"]
    scaled = int(product.alpha != 1.0)
    added = 1 + int(product.beta != 1.0) if a.has(2) else 0
    return a.out * (scaled + added)


def _recurrent_rest(per_cell: int) -> Callable[[Application], int]:
    def count(a: Application) -> int:
        steps, batch, _ = a.input(0).shape
        directions, _, hidden = a.input(2).shape
        return per_cell * steps * batch * directions * hidden

    return count


def _ctc_rest(a: Application) -> int:
    # The softmax, then a sum of three exponentials for each state (a label or a blank) and step.
    steps, batch, classes = a.input(0).shape
    states = 2 * a.input(1).shape[1] + 1
    return steps * batch * (5 * classes + 6 * states)


def _custom_rest(a: Application) -> int:
    flops = registered(a.attributes["name"]).flops
    return flops(*a.inputs) if flops else 0


def _window(a: Application) -> int:
    window: MaxPooling | AveragePooling = a.attributes["window"]
    return window.kernel_elements


ELEMENTWISE: Mapping[str, Callable[[Application], int]] = {
    "conv": lambda a: a.out if a.has(2) else 0,
    "gemm": _gemm_rest,
    "conv_transpose": lambda a: a.out if a.has(2) else 0,
    "matmul": lambda a: 0,
    # 2 additions before the activation, and it.
    "rnn": _recurrent_rest(3),
    # A cell and step: 8 additions before the gates, 3 sigmoids of 3, 2 tanh, 3 products, 1 addition.
    "lstm": _recurrent_rest(23),
    # 6 additions before the gates, 2 sigmoids of 3, 1 tanh, 3 products, 2 additions.
    "gru": _recurrent_rest(18),
    # Two interpolations along one axis, one along the other, of a product and two sums each.
    "resize": lambda a: 9 * a.out if a.attributes.get("mode") == "linear" else 0,
    "max_pool": lambda a: a.out * (_window(a) - 1),
    "average_pool": lambda a: a.out * _window(a),
    "global_average_pool": lambda a: a.input(0).elements,
    # In inference scale and shift, folded; in training two sums, the centring and the square more.
    "batch_normalization": lambda a: a.out * (6 if a.training else 2),
    "relu": lambda a: a.out,
    "sigmoid": lambda a: 3 * a.out,
    "tanh": lambda a: a.out,
    "add": lambda a: a.out,
    "sub": lambda a: a.out,
    "mul": lambda a: a.out,
    "div": lambda a: a.out,
    "affine": lambda a: (
        a.out * ((a.attributes.get("alpha", 1.0) != 1.0) + (a.attributes.get("beta", 0.0) != 0.0))
    ),
    "exp": lambda a: a.out,
    "log": lambda a: a.out,
    "sqrt": lambda a: a.out,
    "log1p": lambda a: a.out,
    "expm1": lambda a: a.out,
    "sin": lambda a: a.out,
    "cos": lambda a: a.out,
    "reciprocal": lambda a: a.out,
    "minimum": lambda a: a.out,
    "maximum": lambda a: a.out,
    "pow": lambda a: a.out,
    "abs": lambda a: a.out,
    "erf": lambda a: a.out,
    "clip": lambda a: 2 * a.out,
    "leaky_relu": lambda a: 2 * a.out,
    # Maximum, absolute value, exponential, sum, logarithm, sum.
    "softplus": lambda a: 6 * a.out,
    "tan": lambda a: a.out,
    "sign": lambda a: a.out,
    "floor": lambda a: a.out,
    "ceil": lambda a: a.out,
    "round": lambda a: a.out,
    # Division, rounding, two sums, two comparisons, product.
    "quantize_dequantize": lambda a: 7 * a.out,
    "integer_div": lambda a: a.out,
    "mod": lambda a: a.out,
    "equal": lambda a: a.out,
    "less": lambda a: a.out,
    "less_or_equal": lambda a: a.out,
    "logical_and": lambda a: a.out,
    "logical_or": lambda a: a.out,
    "logical_xor": lambda a: a.out,
    "logical_not": lambda a: a.out,
    "is_nan": lambda a: a.out,
    "is_inf": lambda a: a.out,
    "where": lambda a: 0,
    "cast": lambda a: 0,
    "stop_gradient": lambda a: 0,
    "causal_mask": lambda a: 0,
    # Two means, centring, square, root and division, scale, shift.
    "layer_normalization": lambda a: 8 * a.out,
    "group_normalization": lambda a: 8 * a.out,
    "dropout": lambda a: 2 * a.out if a.training else 0,
    # Maximum, subtraction, exponential, sum, division.
    "softmax": lambda a: 5 * a.out,
    "log_softmax": lambda a: 5 * a.out,
    "softmax_cross_entropy_loss": lambda a: 5 * a.input(0).elements,
    "ctc_loss": _ctc_rest,
    "reduce_mean": lambda a: a.input(0).elements,
    "reduce_sum": lambda a: a.input(0).elements,
    "reduce_max": lambda a: a.input(0).elements,
    # As many comparisons as a heap of k needs at least: one for each element.
    "top_k": lambda a: a.input(0).elements,
    "top_k_indices": lambda a: a.input(0).elements,
    "arg_max": lambda a: a.input(0).elements,
    "cum_sum": lambda a: a.out,
    "scatter_nd": lambda a: 0,
    "reshape": lambda a: 0,
    "transpose": lambda a: 0,
    "concat": lambda a: 0,
    "split": lambda a: 0,
    "slice": lambda a: 0,
    "pad": lambda a: 0,
    "expand": lambda a: 0,
    "gather": lambda a: 0,
    "gather_elements": lambda a: 0,
    "custom": _custom_rest,
}
"""Every primitive, and users' operators that have no body: operations that are not matrix products, forward."""


def products(operator: str, application: Application) -> tuple[int, int]:
    """Return the operations in matrix products, forward and backward; none for most operators."""
    count = PRODUCTS.get(operator)
    return count(application) if count else (0, 0)
