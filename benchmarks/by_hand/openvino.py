"""DeepBench's operators as a user of OpenVINO calls them: a model of one operator, its tensors set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import openvino
from by_hand.case import Case, Step
from openvino import opset15 as ops


def step(case: Case) -> Step:
    """Return one step of a case."""
    result, operands = {"gemm": gemm, "conv": conv}[case.kind](case)
    nodes, arrays = zip(*operands)
    model = openvino.Model([ops.result(result)], list(nodes), "by_hand")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": case.threads}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    for place, array in enumerate(arrays):
        request.set_input_tensor(place, openvino.Tensor(np.array(array)))

    def infer() -> Any:
        request.infer(share_outputs=True)
        return request

    return infer


Made = tuple[Any, list[tuple[Any, Any]]]
"""A result, and each operand with its values."""


def _operand(values: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    return ops.parameter(values[name].shape, np.float32, name), values[name]


def gemm(case: Case) -> Made:
    """Return the product."""
    operands = [_operand(case.values, name) for name in ("a", "b")]
    return ops.matmul(*(node for node, _ in operands), *case.transposed), operands


def conv(case: Case) -> Made:
    """Return the convolution."""
    image = _operand(case.values, "image")
    weights = ops.constant(np.array(case.values["conv.weight"]))
    return ops.convolution(image[0], weights, case.strides, case.pads, case.pads, [1, 1]), [image]


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    return y.get_output_tensor(0).data
