"""Cases of users' own operators: one that has a body, and a Python function to bridge to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.custom import ANY, Body, CustomOperator, NumpyFunction, register
from benchmarker.graph.types import TensorType
from benchmarker.worker.conformance.cases.case import Operand, OperatorCase

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _body(operators: Any, x: Any, b: Any) -> Any:
    return operators.mul(x, operators.tanh(b))


def _forward(x: Array, b: Array) -> Array:
    gated: Array = x * np.tanh(b)
    return gated


def _backward(
    inputs: tuple[Array, ...], outputs: tuple[Array, ...], gradients: tuple[Array, ...]
) -> tuple[Array, Array]:
    (x, b), (dy,) = inputs, gradients
    gate = np.tanh(b)
    return dy * gate, dy * x * (1.0 - gate * gate)


def _shape(x: TensorType, b: TensorType) -> TensorType:
    return x


BRIDGED = CustomOperator(
    "conformance.tanh_gate", Body(_body), _shape, {ANY: NumpyFunction(_forward, _backward)}
)
COMPOSED = CustomOperator("conformance.composed_gate", Body(_body))
for _operator in (BRIDGED, COMPOSED):
    register(_operator)

CUSTOM_CASES = (
    OperatorCase("custom", "bridged", (Operand((4, 5)), Operand((4, 5), "weight")), {"name": BRIDGED.name}),
    OperatorCase("custom", "bridged-4d", (Operand((2, 3, 4, 5)),) * 2, {"name": BRIDGED.name}),
    OperatorCase("custom", "composed", (Operand((4, 5)), Operand((5,), "weight")), {"name": COMPOSED.name}),
)
