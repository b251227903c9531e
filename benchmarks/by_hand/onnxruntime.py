"""DeepBench's operators as a user of ONNX Runtime calls them: a model of one node, inputs and outputs bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from by_hand.case import Case, Step
from onnx import TensorProto, helper, numpy_helper


def step(case: Case) -> Step:
    """Return one step of a case."""
    node, inputs, weights = {"gemm": gemm, "conv": conv, "rnn": rnn}[case.kind](case)
    session = _session(node, inputs, weights, case.threads)
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.array(array)))
    binding.bind_output("y", "cpu")

    def infer() -> Any:
        session.run_with_iobinding(binding)
        return binding

    return infer


def _session(node: Any, inputs: Mapping[str, Any], weights: Mapping[str, Any], threads: int) -> Any:
    graph = helper.make_graph(
        [node],
        "by_hand",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(array), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


Made = tuple[Any, Mapping[str, Any], Mapping[str, Any]]
"""A node, the arrays that are its inputs, and those that are its weights."""


def gemm(case: Case) -> Made:
    """Return the product."""
    first, second = case.transposed
    node = helper.make_node("Gemm", ["a", "b"], ["y"], transA=int(first), transB=int(second))
    return node, {name: case.values[name] for name in ("a", "b")}, {}


def conv(case: Case) -> Made:
    """Return the convolution."""
    pads, w = [*case.pads, *case.pads], case.values["conv.weight"]
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=list(case.strides), pads=pads)
    return node, {"x": case.values["image"]}, {"w": w}


def rnn(case: Case) -> Made:
    """Return the layer."""
    kind, more = case.sizes["type"], _ATTRIBUTES[case.sizes["type"]]
    names: Sequence[str] = ["x", "w", "r", "b"]
    operator = {"vanilla": "RNN"}.get(kind, kind.upper())
    node = helper.make_node(operator, names, ["y"], hidden_size=case.sizes["hidden"], **more)
    return node, {"x": case.values["sequence"]}, dict(zip("wrb", case.weights))


_ATTRIBUTES: Mapping[str, Any] = {
    "vanilla": {"activations": ["Relu"]},
    "lstm": {},
    "gru": {"linear_before_reset": 1},
}


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    return y.get_outputs()[0].numpy()
