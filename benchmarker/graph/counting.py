"""What each primitive computes, counted in floating-point operations from the shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarker.graph.types import TensorType


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


def _lstm_products(a: Application) -> tuple[int, int]:
    steps, batch, features = a.input(0).shape
    hidden = a.attributes["hidden_size"]
    from_input = 2 * steps * batch * 4 * hidden * features
    recurrent = 2 * steps * batch * 4 * hidden * hidden
    # The state's own gradient goes back through the recurrent product whenever anything's does.
    backward = from_input * sum(a.needed[:2]) + recurrent * (a.needed[2] + any(a.needed))
    return from_input + recurrent, backward


PRODUCTS: Mapping[str, Callable[[Application], tuple[int, int]]] = {
    "conv": _conv_products,
    "gemm": _gemm_products,
    "lstm": _lstm_products,
}
"""Operators with matrix products: forward and backward operations."""


def _gemm_rest(a: Application) -> int:
    scaled = int(a.attributes.get("alpha", 1.0) != 1.0)
    added = 1 + int(a.attributes.get("beta", 1.0) != 1.0) if a.has(2) else 0
    return a.out * (scaled + added)


def _lstm_rest(a: Application) -> int:
    # A cell and step: 8 additions before the gates, 3 sigmoids of 3, 2 tanh, 3 products, 1 addition.
    steps, batch, _ = a.input(0).shape
    hidden: int = a.attributes["hidden_size"]
    return 23 * steps * batch * hidden


def _window(a: Application) -> int:
    kernel: tuple[int, ...] = a.attributes["kernel_shape"]
    return math.prod(kernel)


ELEMENTWISE: Mapping[str, Callable[[Application], int]] = {
    "conv": lambda a: a.out if a.has(2) else 0,
    "gemm": _gemm_rest,
    "lstm": _lstm_rest,
    "max_pool": lambda a: a.out * (_window(a) - 1),
    "average_pool": lambda a: a.out * _window(a),
    "global_average_pool": lambda a: a.input(0).elements,
    # In inference scale and shift, folded; in training two sums, the centring and the square more.
    "batch_normalization": lambda a: a.out * (6 if a.training else 2),
    "relu": lambda a: a.out,
    "sigmoid": lambda a: 3 * a.out,
    "tanh": lambda a: a.out,
    "add": lambda a: a.out,
    "mul": lambda a: a.out,
    "dropout": lambda a: 2 * a.out if a.training else 0,
    # Maximum, subtraction, exponential, sum, division.
    "softmax": lambda a: 5 * a.out,
    "softmax_cross_entropy_loss": lambda a: 5 * a.input(0).elements,
    "reduce_mean": lambda a: a.input(0).elements,
    "reshape": lambda a: 0,
    "transpose": lambda a: 0,
}
"""Every primitive: operations that are not matrix products, forward."""


def products(operator: str, application: Application) -> tuple[int, int]:
    """Return the operations in matrix products, forward and backward; none for most operators."""
    count = PRODUCTS.get(operator)
    return count(application) if count else (0, 0)
