"""Cases of reductions, and of operators that move elements or choose among them."""

from __future__ import annotations

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, labels, weights


def _reductions(operator: str) -> tuple[OperatorCase, ...]:
    x = Operand((2, 3, 4, 5))
    return (
        OperatorCase(operator, "matrix", (Operand((4, 5)),)),
        OperatorCase(operator, "4d", (x,)),
        OperatorCase(operator, "vector", (Operand((7,)),)),
        OperatorCase(operator, "last-axis", (x,), {"axes": (-1,)}),
        OperatorCase(operator, "last-axis-kept", (x,), {"axes": (-1,), "keepdims": True}),
        OperatorCase(operator, "axis-1", (x,), {"axes": (1,)}),
        OperatorCase(operator, "channels-kept", (x,), {"axes": (1,), "keepdims": True}),
        OperatorCase(operator, "two-axes", (x,), {"axes": (0, 2)}),
        OperatorCase(operator, "spatial-kept", (x,), {"axes": (2, 3), "keepdims": True}),
        OperatorCase(operator, "all-but-channels", (x,), {"axes": (0, 2, 3), "keepdims": True}),
    )


REDUCTIONS = (
    *_reductions("reduce_mean"),
    *_reductions("reduce_sum"),
    *_reductions("reduce_max"),
    OperatorCase("top_k", "vector", (Operand((9,)),), {"k": 4}),
    OperatorCase("top_k", "rows", (Operand((4, 7)),), {"k": 3}),
    OperatorCase("top_k", "all", (Operand((2, 3, 5)),), {"k": 5}),
)

SHAPES = (
    OperatorCase("reshape", "plain", (Operand((4, 6)),), {"shape": (3, 8)}),
    OperatorCase("reshape", "infer", (Operand((2, 3, 4)),), {"shape": (-1, 6)}),
    OperatorCase("reshape", "keep-and-infer", (Operand((2, 3, 4, 5)),), {"shape": (0, 0, -1)}),
    OperatorCase("reshape", "flatten-4d", (Operand((2, 3, 4, 5)),), {"shape": (0, -1)}),
    OperatorCase("reshape", "to-4d", (Operand((2, 24)),), {"shape": (0, 2, 3, 4)}),
    OperatorCase("transpose", "matrix", (Operand((4, 6)),), {"perm": (1, 0)}),
    OperatorCase("transpose", "batch-and-time", (Operand((2, 5, 3)),), {"perm": (1, 0, 2)}),
    OperatorCase("transpose", "4d", (Operand((2, 3, 4, 5)),), {"perm": (0, 2, 3, 1)}),
    OperatorCase("transpose", "4d-cycle", (Operand((2, 3, 4, 5)),), {"perm": (3, 0, 2, 1)}),
    OperatorCase("flatten", "4d", (Operand((2, 3, 4, 5)),)),
    OperatorCase("flatten", "3d", (Operand((2, 3, 4)),)),
    OperatorCase("flatten", "matrix", (Operand((4, 5)),)),
    OperatorCase("concat", "channels", (Operand((2, 3, 4, 4)), Operand((2, 2, 4, 4))), {"axis": 1}),
    OperatorCase("concat", "three", (Operand((2, 3)), Operand((2, 1)), *weights((2, 4))), {"axis": -1}),
    OperatorCase("concat", "batch", (Operand((2, 3, 4)), Operand((3, 3, 4))), {"axis": 0}),
    OperatorCase("concat", "last-axis-4d", (Operand((2, 3, 4, 2)), Operand((2, 3, 4, 3))), {"axis": -1}),
    OperatorCase("concat", "time", (Operand((2, 3, 4)), Operand((2, 5, 4))), {"axis": 1}),
    OperatorCase("split", "matrix", (Operand((4, 6)),), {"axis": 1, "num_outputs": 3}),
    OperatorCase("split", "last-axis", (Operand((2, 3, 8)),), {"axis": -1, "num_outputs": 2}),
    OperatorCase("split", "channels", (Operand((2, 6, 4, 3)),), {"axis": 1, "num_outputs": 2}),
    OperatorCase("slice", "rows", (Operand((5, 4)),), {"axes": (0,), "starts": (1,), "ends": (4,)}),
    OperatorCase(
        "slice",
        "two-axes",
        (Operand((2, 3, 6, 7)),),
        {"axes": (2, 3), "starts": (1, 2), "ends": (5, 7)},
    ),
    OperatorCase(
        "slice",
        "steps",
        (Operand((2, 3, 6, 7)),),
        {"axes": (2, 3), "starts": (0, 0), "ends": (6, 7), "steps": (2, 2)},
    ),
    OperatorCase("slice", "token", (Operand((2, 5, 4)),), {"axes": (1,), "starts": (0,), "ends": (1,)}),
    OperatorCase("pad", "channels", (Operand((2, 3, 4, 4)),), {"pads": (0, 1, 0, 0, 0, 2, 0, 0)}),
    OperatorCase("pad", "spatial", (Operand((2, 3, 4, 4)),), {"pads": (0, 0, 1, 0, 0, 0, 0, 2)}),
    OperatorCase("pad", "matrix-value", (Operand((3, 4)),), {"pads": (1, 0, 0, 2), "value": -1.5}),
    OperatorCase("pad", "3d", (Operand((2, 3, 4)),), {"pads": (0, 0, 2, 0, 0, 1)}),
    OperatorCase("expand", "batch", weights((1, 3, 4)), {"shape": (2, 3, 4)}),
    OperatorCase("expand", "vector", weights((4,)), {"shape": (2, 3, 4)}),
    OperatorCase("expand", "middle", (Operand((2, 1, 3, 4)),), {"shape": (2, 5, 3, 4)}),
    OperatorCase("gather", "rows", (*weights((7, 4)), labels((5,), 7))),
    OperatorCase("gather", "embedding", (*weights((6, 3)), labels((2, 8), 6))),
    OperatorCase("gather", "axis-1", (Operand((2, 5, 3)), labels((4,), 5)), {"axis": 1}),
    OperatorCase("gather", "last-axis", (Operand((3, 6)), labels((2, 2), 6)), {"axis": -1}),
    OperatorCase("gather_elements", "actions", (Operand((4, 6)), labels((4, 1), 6)), {"axis": 1}),
    OperatorCase("gather_elements", "several", (Operand((4, 6)), labels((4, 3), 6)), {"axis": -1}),
    OperatorCase("gather_elements", "3d-axis-1", (Operand((2, 5, 3)), labels((2, 2, 3), 5)), {"axis": 1}),
)

SHAPE_CASES = (*REDUCTIONS, *SHAPES)
