"""Cases of operators on single elements, and of the softmax."""

from __future__ import annotations

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, labels


def _unary(operator: str) -> tuple[OperatorCase, ...]:
    return (
        OperatorCase(operator, "matrix", (Operand((4, 5)),)),
        OperatorCase(operator, "4d", (Operand((2, 3, 4, 5)),)),
        OperatorCase(operator, "wide", (Operand((4, 6), values="wide"),)),
    )


def _binary(operator: str, values: str = "normal", left: str = "normal") -> tuple[OperatorCase, ...]:
    x = Operand((2, 3, 4, 5), values=left)

    def other(shape: tuple[int, ...]) -> Operand:
        return Operand(shape, values=left)

    def weight(shape: tuple[int, ...]) -> Operand:
        return Operand(shape, "weight", values)

    return (
        OperatorCase(operator, "same", (x, Operand((2, 3, 4, 5), values=values))),
        OperatorCase(operator, "matrix-row", (other((4, 5)), weight((5,)))),
        OperatorCase(operator, "matrix-column", (other((4, 5)), weight((4, 1)))),
        OperatorCase(operator, "per-channel", (x, weight((1, 3, 1, 1)))),
        OperatorCase(operator, "lower-rank", (x, weight((3, 1, 1)))),
        OperatorCase(operator, "last-axis", (x, weight((5,)))),
        OperatorCase(operator, "scalar", (x, weight(()))),
        OperatorCase(
            operator, "first-broadcast", (other((2, 3, 1, 1)), Operand((2, 3, 4, 5), values=values))
        ),
        OperatorCase(operator, "both-broadcast", (other((4, 1, 5)), weight((3, 1)))),
        # Of equal sizes, so that a vector taken along another axis than its own fits too.
        OperatorCase(operator, "square-column", (other((4, 4)), weight((4, 1)))),
        OperatorCase(operator, "middle-axis", (other((3, 4, 4)), weight((1, 4, 1)))),
        OperatorCase(operator, "higher-rank", (other((3, 4)), weight((4, 1, 1)))),
        OperatorCase(operator, "last-axis-broadcast", (other((2, 4, 1)), weight((4,)))),
    )


ELEMENTWISE_CASES = (
    *_unary("relu"),
    OperatorCase("relu", "zeros", (Operand((4, 6), values="zeros"),)),
    *_unary("sigmoid"),
    *_unary("tanh"),
    *_unary("silu"),
    *_binary("add"),
    *_binary("sub"),
    *_binary("mul"),
    *_binary("div", "positive"),
    *_binary("minimum"),
    *_binary("maximum"),
    *_binary("pow", "normal", "positive"),
    *_unary("abs"),
    *_unary("sin"),
    *_unary("cos"),
    *_unary("erf"),
    *_unary("softplus"),
    *_unary("stop_gradient"),
    *_unary("gelu"),
    OperatorCase("gelu", "tanh", (Operand((4, 5)),), {"approximate": "tanh"}),
    OperatorCase("gelu", "tanh-wide", (Operand((4, 6), values="wide"),), {"approximate": "tanh"}),
    *_unary("huber"),
    OperatorCase("huber", "delta", (Operand((4, 5)),), {"delta": 0.5}),
    *_unary("leaky_relu"),
    OperatorCase("leaky_relu", "alpha", (Operand((4, 5)),), {"alpha": 0.2}),
    OperatorCase("clip", "relu6", (Operand((4, 6), values="wide"),), {"min": 0.0, "max": 6.0}),
    OperatorCase("clip", "both-sides", (Operand((2, 3, 4, 5)),), {"min": -0.7, "max": 0.4}),
    OperatorCase("affine", "both", (Operand((2, 3, 4)),), {"alpha": -1.5, "beta": 0.25}),
    OperatorCase("affine", "alpha", (Operand((4, 5)),), {"alpha": 0.125}),
    OperatorCase("affine", "beta", (Operand((4, 5)),), {"beta": 1e-3}),
    OperatorCase("exp", "4d", (Operand((2, 3, 4, 5)),)),
    OperatorCase("log", "4d", (Operand((2, 3, 4, 5), values="positive"),)),
    OperatorCase("log1p", "4d", (Operand((2, 3, 4, 5), values="positive"),)),
    OperatorCase("expm1", "4d", (Operand((2, 3, 4, 5)),)),
    OperatorCase("reciprocal", "4d", (Operand((2, 3, 4, 5), values="positive"),)),
    OperatorCase("sqrt", "4d", (Operand((2, 3, 4, 5), values="positive"),)),
    OperatorCase("cast", "matrix", (labels((4, 5), 100),)),
    OperatorCase("cast", "vector", (labels((6,), 3),)),
    OperatorCase("dropout", "matrix", (Operand((4, 5)),), {"ratio": 0.3}),
    OperatorCase("dropout", "4d", (Operand((2, 3, 4, 4)),), {"ratio": 0.5}),
    OperatorCase("dropout", "ratio-0", (Operand((4, 5)),), {"ratio": 0.0}),
    OperatorCase("softmax", "matrix", (Operand((4, 5)),)),
    OperatorCase("softmax", "shifted", (Operand((4, 6), values="shifted"),)),
    OperatorCase("softmax", "axis-1", (Operand((2, 3, 4)),), {"axis": 1}),
    OperatorCase("softmax", "axis-0", (Operand((4, 3)),), {"axis": 0}),
    OperatorCase("softmax", "axis-1-4d", (Operand((2, 3, 4, 5)),), {"axis": 1}),
    OperatorCase("softmax", "axis-from-end", (Operand((2, 3, 4, 5)),), {"axis": -2}),
    OperatorCase("log_softmax", "matrix", (Operand((4, 5)),)),
    OperatorCase("log_softmax", "shifted", (Operand((4, 6), values="shifted"),)),
    OperatorCase("log_softmax", "axis-1", (Operand((2, 3, 4)),), {"axis": 1}),
)
