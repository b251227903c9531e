"""Write models that are made node by node, for what exporters and older opsets do, and what ONNX Runtime returns.

Run with an interpreter that has onnx and onnxruntime: ``python make_handmade.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

GENERATOR = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    """Return normal numbers."""
    return GENERATOR.normal(size=shape).astype(np.float32)


def integers(*numbers: int) -> Any:
    """Return whole numbers, as shapes and axes are."""
    return np.array(numbers, np.int64)


def write(
    folder: Path,
    name: str,
    opset: int,
    nodes: list[Any],
    inputs: dict[str, tuple[Any, list[Any]]],
    weights: dict[str, Any],
) -> None:
    """Write a model with output ``y``, its inputs, and what ONNX Runtime returns."""
    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}
    declared = [
        helper.make_tensor_value_info(i, kinds[array.dtype.kind], sizes)
        for i, (array, sizes) in inputs.items()
    ]
    tensors = [numpy_helper.from_array(array, w) for w, array in weights.items()]
    arrays = {i: array for i, (array, _) in inputs.items()}

    def model(sizes: list[Any] | None) -> Any:
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, sizes)
        graph = helper.make_graph(nodes, name, declared, [output], tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)

    session = onnxruntime.InferenceSession(
        model(None).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (y,) = session.run(None, arrays)
    whole = model([None] * y.ndim)
    onnx.checker.check_model(whole)
    onnx.save(whole, str(folder / f"{name}.onnx"))
    np.savez(folder / f"{name}.npz", y=y, **arrays)


def node(operator: str, inputs: str, output: str = "y", **attributes: Any) -> Any:
    """Return a node; names of inputs are parted by spaces."""
    return helper.make_node(
        operator, inputs.split(" "), output.split(" "), name=f"node_{output}", **attributes
    )


def older(folder: Path) -> None:
    """Write models of opsets whose attributes became inputs later, or meant something else."""
    x = floats(2, 3, 4)
    sizes = ["N", 3, 4]
    write(folder, "softmax_11", 11, [node("Softmax", "x", axis=1)], {"x": (x, sizes)}, {})
    nodes = [
        node("Unsqueeze", "x", "a", axes=[0, 2]),
        node("Squeeze", "a", "b", axes=[0]),
        node("ReduceSum", "b", "c", axes=[1, -1], keepdims=0),
        node("Split", "c", "d e", axis=1, split=[1, 2]),
        node("Pad", "e", "f", mode="constant", pads=[0, 1, 0, 0], value=0.5),
        node("Clip", "f", "g", min=-0.5),
        node("Dropout", "g", "h", ratio=0.25),
        node("Slice", "h", "y", starts=[1], ends=[9], axes=[1]),
    ]
    write(folder, "attributes_9", 9, nodes, {"x": (x, sizes)}, {})
    image = floats(2, 2, 3, 3)
    scales = np.array([1.0, 1.0, 2.0, 2.0], np.float32)
    four = ["N", 2, 3, 3]
    write(
        folder,
        "upsample_9",
        9,
        [node("Upsample", "x s", mode="nearest")],
        {"x": (image, four)},
        {"s": scales},
    )
    write(
        folder, "resize_10", 10, [node("Resize", "x s", mode="nearest")], {"x": (image, four)}, {"s": scales}
    )


def windows(folder: Path) -> None:
    """Write convolutions and poolings whose padding follows from the output's size."""
    image = floats(2, 3, 7, 6)
    four = ["N", 3, 7, 6]
    weight = floats(4, 3, 3, 2)
    for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        nodes = [
            node("Conv", "x w", "c", auto_pad=mode, strides=[2, 1]),
            node("AveragePool", "c", "y", kernel_shape=[2, 2], auto_pad=mode),
        ]
        write(folder, f"windows_{mode.lower()}", 17, nodes, {"x": (image, four)}, {"w": weight})
    transposed = [node("ConvTranspose", "x w b", pads=[1, 0, 0, 1], strides=[2, 2], output_padding=[1, 0])]
    weights = {"w": floats(3, 2, 3, 3), "b": floats(2)}
    write(folder, "transposed", 17, transposed, {"x": (image, four)}, weights)


def shapes(folder: Path) -> None:
    """Write what exporters make of a view: sizes taken from a shape, changed, joined and used."""
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "count", axis=0),
        node("Unsqueeze", "count axis", "first"),
        node("Concat", "first rest", "wanted", axis=0),
        node("Reshape", "x wanted", "flat"),
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        node("Mul", "flat two", "m"),
        node("Sub", "one m", "y"),
    ]
    weights = {
        "zero": np.array(0, np.int64),
        "axis": integers(0),
        "rest": integers(-1, 6),
        "one": np.array(1.0, np.float32),
    }
    write(folder, "view", 17, nodes, {"x": (floats(2, 3, 4), ["N", 3, 4])}, weights)
    mask = np.tril(np.ones((4, 4), bool))
    masked = [
        node("Where", "seen x low", "w"),
        node("Softmax", "w", "y", axis=-1),
    ]
    low = np.array(-np.inf, np.float32)
    write(folder, "masked", 17, masked, {"x": (floats(2, 4, 4), ["N", 4, 4])}, {"seen": mask, "low": low})


def layers(folder: Path) -> None:
    """Write recurrent layers with states that are zero, and the shared table of a tied embedding."""
    weights = {
        "table": floats(9, 4),
        "w": floats(2, 12, 4),
        "r": floats(2, 12, 3),
        "b": floats(2, 24),
        "zeros": np.zeros((2, 2, 3), np.float32),
        "starts": integers(0),
        "ends": integers(3),
        "axes": integers(1),
    }
    nodes = [
        node("Gather", "table tokens", "x"),
        node("Transpose", "x", "steps", perm=[1, 0, 2]),
        node("LSTM", "steps w r b  zeros zeros", "all h c", hidden_size=3, direction="bidirectional"),
        node("Transpose", "h", "swapped", perm=[1, 0, 2]),
        node("ReduceMean", "swapped", "mean", axes=[1], keepdims=0),
        node("Identity", "table", "same"),
        node("Slice", "same starts ends axes", "cut"),
        node("Transpose", "cut", "turned", perm=[1, 0]),
        node("MatMul", "mean turned", "y"),
    ]
    tokens = np.array([[1, 2, 8], [0, 3, 4]])
    write(folder, "tied", 17, nodes, {"tokens": (tokens, ["N", "length"])}, weights)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for make in (older, windows, shapes, layers):
        make(target)
