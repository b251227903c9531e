"""Matrix products."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.recorder import Value


def _gemm(call: Call) -> Result:
    return call.net.gemm(
        call.tensor(0),
        call.tensor(1),
        call.optional(2),
        alpha=call.attribute("alpha", 1.0),
        beta=call.attribute("beta", 1.0),
        trans_a=bool(call.attribute("transA", 0)),
        trans_b=bool(call.attribute("transB", 0)),
    )


def _matmul(call: Call) -> Result:
    return multiplied(call, call.tensor(0), call.tensor(1))


def multiplied(call: Call, a: Value, b: Value) -> Value:
    """Return a product; a vector counts as a matrix of one row or column."""
    left, right = len(a.shape) == 1, len(b.shape) == 1
    rows = reshaped(call, a, (1, *a.shape)) if left else a
    columns = reshaped(call, b, (*b.shape, 1)) if right else b
    product = call.net.matmul(rows, columns)
    shape = list(product.shape)
    if right:
        del shape[-1]
    if left:
        del shape[-1 if right else -2]
    return reshaped(call, product, shape)


HANDLERS: Mapping[str, Handler] = {"Gemm": _gemm, "MatMul": _matmul}
"""How each ONNX operator is written in ours."""
