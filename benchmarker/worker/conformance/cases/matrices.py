"""Cases of matrix products and attention."""

from __future__ import annotations

from typing import Any

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, weights

MATRICES = (
    OperatorCase("gemm", "plain", (Operand((4, 5)), *weights((5, 3), (3,)))),
    OperatorCase("gemm", "without-c", (Operand((4, 5)), *weights((5, 3)))),
    OperatorCase("gemm", "dense", (Operand((4, 5)), *weights((3, 5), (3,))), {"trans_b": True}),
    OperatorCase("gemm", "dense-without-c", (Operand((4, 5)), *weights((3, 5))), {"trans_b": True}),
    OperatorCase("gemm", "trans-a", (Operand((5, 4)), *weights((5, 3), (4, 3))), {"trans_a": True}),
    OperatorCase(
        "gemm", "trans-both", (Operand((5, 4)), *weights((3, 5), (3,))), {"trans_a": True, "trans_b": True}
    ),
    OperatorCase(
        "gemm", "alpha-beta", (Operand((4, 5)), *weights((5, 3), (4, 1))), {"alpha": 0.5, "beta": -2.0}
    ),
    OperatorCase(
        "gemm",
        "dense-alpha-beta",
        (Operand((4, 5)), *weights((3, 5), (1, 3))),
        {"trans_b": True, "alpha": 2.5, "beta": 0.25},
    ),
    OperatorCase("gemm", "square-column", (Operand((4, 5)), *weights((5, 4), (4, 1)))),
    OperatorCase("gemm", "both-data", (Operand((4, 5)), Operand((5, 3)))),
)


def _attention(
    name: str, q: tuple[int, ...], s: int, e: int, mask: tuple[int, ...] | None = None, **attributes: Any
) -> OperatorCase:
    operands: list[Operand | None] = [Operand(q), Operand((*q[:2], s, q[3])), Operand((*q[:2], s, e))]
    if mask is not None:
        operands.append(Operand(mask))
    return OperatorCase("attention", name, tuple(operands), {"scale": 0.5, **attributes})


MATRIX_CASES = (
    *MATRICES,
    OperatorCase("matmul", "matrices", (Operand((4, 5)), *weights((5, 3)))),
    OperatorCase("matmul", "batch", (Operand((3, 4, 5)), Operand((3, 5, 2)))),
    OperatorCase("matmul", "heads", (Operand((2, 3, 4, 5)), Operand((2, 3, 5, 4)))),
    OperatorCase("matmul", "broadcast-right", (Operand((2, 3, 4, 5)), *weights((5, 6)))),
    OperatorCase("matmul", "broadcast-left", (Operand((4, 5)), Operand((3, 5, 2)))),
    OperatorCase("matmul", "broadcast-both", (Operand((2, 1, 4, 5)), Operand((3, 5, 6)))),
    OperatorCase("matmul", "broadcast-each", (Operand((3, 1, 3, 4)), Operand((1, 2, 4, 2)))),
    OperatorCase("sparse_matmul", "plain", (Operand((4, 5), "state"), Operand((5, 3)))),
    OperatorCase("causal_mask", "matrix", (Operand((5, 5)),), then="softmax"),
    OperatorCase("causal_mask", "heads", (Operand((2, 3, 4, 4)),), then="softmax"),
    _attention("plain", (2, 3, 4, 5), 6, 4),
    _attention("causal", (2, 3, 5, 4), 5, 4, is_causal=True),
    _attention("mask", (2, 2, 4, 3), 5, 3, mask=(2, 1, 1, 5)),
    _attention("mask-full", (2, 2, 4, 3), 5, 2, mask=(2, 2, 4, 5)),
    _attention("mask-broadcast", (2, 2, 4, 3), 4, 3, mask=(4, 4)),
    OperatorCase("rotary_embedding", "plain", (Operand((2, 3, 4, 6)), Operand((4, 3)), Operand((4, 3)))),
)
