"""How many products of a compiled model OpenVINO computes in integers."""

from __future__ import annotations

from typing import Any

from benchmarker.plugins.openvino.profiler import info_text

_PRODUCTS = ("Convolution", "Deconvolution", "FullyConnected", "MatMul")
_INTEGER_KERNEL = "I8"
"""What the names of kernels end with that take 8 bits, as ``brgconv_avx512_I8``."""


def integer_products(compiled: Any) -> int:
    """Return it, by the model as OpenVINO runs it.

    Layers in a row it may join to one ``Subgraph``, which has no type of its own, but weights of 8 bits for each.
    """
    return sum(_within(op) for op in compiled.get_runtime_model().get_ordered_ops())


def _within(op: Any) -> int:
    info = op.get_rt_info()
    kind = info_text(info, "layerType")
    if kind in _PRODUCTS:
        return int(info_text(info, "primitiveType").endswith(_INTEGER_KERNEL))
    if kind != "Subgraph":
        return 0
    makers = [operand.get_source_output() for operand in op.inputs() if _holds_bytes(operand)]
    return sum(info_text(maker.get_node().get_rt_info(), "layerType") == "Const" for maker in makers)


def _holds_bytes(operand: Any) -> bool:
    return bool(operand.get_element_type().get_type_name() == "i8")
