"""DeepBench's products and convolutions as a user of TensorFlow calls them, under ``tf.function``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

Values = Mapping[str, Any]
Step = Callable[[], Any]


def step(problem: str, parameters: Values, values: Values, mode: str) -> Step:
    """Return one step of a problem; the arguments are those of the other frameworks.

    On a processor a call returns when its result is there.
    """
    make = {"deepbench_gemm": gemm, "deepbench_conv": conv}[problem]
    operands, forward = make(parameters, values)
    if mode == "inference":
        infer = tf.function(forward)
        return lambda: infer(*operands)
    upstream = next(value for name, value in values.items() if name.startswith("upstream."))
    gradient = tf.constant(upstream.transpose(0, 2, 3, 1) if upstream.ndim == 4 else upstream)

    @tf.function  # type: ignore[untyped-decorator]
    def backward(a: Any, b: Any, seed: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            y = forward(a, b)
        return y, tape.gradient(y, (a, b), output_gradients=seed)

    return lambda: backward(*operands, gradient)


def gemm(p: Values, values: Values) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the product."""
    operands = [tf.constant(values[name]) for name in ("a", "b")]
    return operands, lambda a, b: tf.matmul(a, b, p["a_transposed"], p["b_transposed"])


def conv(p: Values, values: Values) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the convolution, channels innermost."""
    x = tf.constant(np.ascontiguousarray(values["image"].transpose(0, 2, 3, 1)))
    w = tf.constant(np.ascontiguousarray(values["conv.weight"].transpose(2, 3, 1, 0)))
    pads = [[0, 0], [p["pad_h"]] * 2, [p["pad_w"]] * 2, [0, 0]]
    strides = [p["stride_h"], p["stride_w"]]
    return [x, w], lambda a, b: tf.nn.conv2d(a, b, strides, pads)


def output(result: Any) -> Any:
    """Return the forward result of a step as an array in NCHW."""
    found = (result[0] if isinstance(result, tuple) else result).numpy()
    return found.transpose(0, 3, 1, 2) if found.ndim == 4 else found
