"""Cases of truth values and integers: comparisons, logic, choice, whole numbers, places."""

from __future__ import annotations

from benchmarker.worker.conformance.cases.case import Operand, OperatorCase, labels


def _truth(*shape: int) -> Operand:
    return Operand(shape, "truth")


def _table(*shape: int, classes: int) -> Operand:
    return Operand(shape, "table", classes=classes)


def _compared(operator: str) -> tuple[OperatorCase, ...]:
    return (
        OperatorCase(operator, "same", (Operand((2, 3, 4, 5)), Operand((2, 3, 4, 5), "weight"))),
        OperatorCase(operator, "zeros", (Operand((4, 6), values="zeros"), Operand((6,), "state", "zeros"))),
        OperatorCase(operator, "integers", (labels((4, 6), 3), labels((4, 6), 3))),
        OperatorCase(operator, "integer-table", (labels((4, 1), 3), _table(6, classes=3))),
    )


def _logic(operator: str) -> tuple[OperatorCase, ...]:
    return (
        OperatorCase(operator, "same", (_truth(4, 6), _truth(4, 6))),
        OperatorCase(operator, "broadcast", (_truth(4, 1), _truth(2, 4, 6))),
    )


LOGIC_CASES = (
    *_compared("equal"),
    *_compared("less"),
    *_compared("less_or_equal"),
    *_logic("logical_and"),
    *_logic("logical_or"),
    *_logic("logical_xor"),
    OperatorCase("logical_not", "matrix", (_truth(4, 6),)),
    OperatorCase("is_nan", "matrix", (Operand((4, 6), values="wide"),)),
    OperatorCase("is_inf", "matrix", (Operand((4, 6), values="wide"),)),
    OperatorCase("where", "same", (_truth(4, 6), Operand((4, 6)), Operand((4, 6), "weight"))),
    OperatorCase("where", "scalar", (_truth(2, 3, 4, 4), Operand((), "weight"), Operand((2, 3, 4, 4)))),
    OperatorCase("where", "broadcast", (_truth(4, 1), Operand((2, 1, 6)), Operand((6,), "weight"))),
    OperatorCase("where", "integers", (_truth(4, 6), labels((4, 6), 9), _table(6, classes=9))),
    OperatorCase("cast", "truth", (_truth(4, 5),)),
    OperatorCase("cast", "truth-to-integers", (_truth(4, 5),), {"to": "int64"}),
    OperatorCase("cast", "integers-to-truth", (labels((4, 5), 3),), {"to": "bool"}),
    OperatorCase("cast", "to-integers", (Operand((4, 6), values="wide"),), {"to": "int64"}),
    OperatorCase("cast", "to-truth", (Operand((4, 6), values="zeros"),), {"to": "bool"}),
    OperatorCase("tan", "matrix", (Operand((4, 5), values="positive"),)),
    *(
        OperatorCase(operator, values, (Operand((4, 6), values=values),))
        for operator in ("sign", "floor", "ceil", "round")
        for values in ("normal", "wide", "zeros")
    ),
    OperatorCase("round", "halves", (Operand((4, 6), values="halves"),)),
    *(
        OperatorCase(operator, "integers", (labels((4, 6), 9), labels((4, 6), 9)))
        for operator in ("add", "sub", "mul", "minimum", "maximum")
    ),
    OperatorCase("abs", "integers", (labels((4, 6), 9, low=-9),)),
    OperatorCase("quantize_dequantize", "signed", (Operand((4, 6)),), {"scale": (0.02,), "zero_point": -3}),
    OperatorCase(
        "quantize_dequantize",
        "unsigned-saturated",
        (Operand((2, 3, 4, 4), values="wide"),),
        {"scale": (0.007,), "zero_point": 100, "signed": False},
    ),
    OperatorCase(
        "quantize_dequantize",
        "by-channel",
        (Operand((4, 6)),),
        {"scale": (0.03, 0.01, 0.02, 0.05), "axis": 0},
    ),
    OperatorCase(
        "quantize_dequantize", "bias", (Operand((3,)),), {"scale": (1e-4, 3e-5, 2e-4), "axis": 0, "bits": 32}
    ),
    OperatorCase("integer_div", "signs", (labels((4, 6), 50, low=-50), labels((4, 6), 7, low=1))),
    OperatorCase("integer_div", "negative", (labels((4, 6), 50, low=-50), labels((6,), 0, low=-7))),
    OperatorCase("mod", "signs", (labels((4, 6), 50, low=-50), labels((4, 6), 7, low=1))),
    OperatorCase("mod", "table", (labels((4, 6), 50), Operand((6,), "table", classes=9, low=1))),
    OperatorCase("reduce_sum", "integers", (labels((4, 6), 9),), {"axes": (1,)}),
    OperatorCase("reduce_max", "integers", (labels((4, 6), 9),), {"axes": (1,), "keepdims": True}),
    OperatorCase("concat", "integers", (labels((4, 6), 9), _table(4, 2, classes=9)), {"axis": 1}),
    OperatorCase("concat", "truth", (_truth(4, 6), _truth(4, 2)), {"axis": 1}),
    OperatorCase("reshape", "truth", (_truth(4, 6),), {"shape": (2, 12)}),
    OperatorCase("transpose", "truth", (_truth(4, 6),), {"perm": (1, 0)}),
    OperatorCase("expand", "truth", (_truth(4, 1),), {"shape": (4, 6)}),
    OperatorCase("slice", "truth", (_truth(4, 6),), {"axes": (1,), "starts": (1,), "ends": (4,)}),
    OperatorCase("gather", "constant-indices", (Operand((4, 6)), _table(3, classes=6)), {"axis": 1}),
    OperatorCase("gather", "integers", (_table(7, 3, classes=9), labels((4,), 7))),
    OperatorCase("gather", "truth", (_truth(7, 3), labels((4,), 7))),
    OperatorCase("gather_elements", "integers", (labels((4, 6), 9), _table(4, 3, classes=6)), {"axis": 1}),
    OperatorCase("top_k_indices", "matrix", (Operand((4, 6)),), {"k": 3}),
    OperatorCase("top_k_indices", "ties", (Operand((4, 6), values="zeros"),), {"k": 6}),
    OperatorCase("arg_max", "matrix", (Operand((4, 6)),), {"axis": 1}),
    OperatorCase("arg_max", "kept", (Operand((2, 4, 6)),), {"axis": 1, "keepdims": True}),
    OperatorCase("arg_max", "ties", (labels((4, 6), 2),), {"axis": -1}),
    OperatorCase("cum_sum", "matrix", (Operand((4, 6)),), {"axis": 1}),
    OperatorCase("cum_sum", "exclusive", (Operand((4, 6)),), {"axis": 0, "exclusive": True}),
    OperatorCase(
        "cum_sum", "reverse", (Operand((2, 4, 6)),), {"axis": -2, "exclusive": True, "reverse": True}
    ),
    OperatorCase("cum_sum", "integers", (labels((4, 6), 9),), {"axis": 1}),
    OperatorCase("scatter_nd", "rows", (Operand((6, 4)), labels((1, 1), 6), Operand((1, 4), "weight"))),
    OperatorCase(
        "scatter_nd", "element", (Operand((6, 4)), _table(1, 2, classes=4), Operand((1,), "weight"))
    ),
)
