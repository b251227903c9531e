"""DeepBench's products and convolutions as a user of TensorFlow calls them: one concrete ``tf.function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from by_hand.case import Case, Step


def step(case: Case) -> Step:
    """Return one step of a case; on a processor a call returns when its result is there."""
    arrays, forward = {"gemm": gemm, "conv": conv}[case.kind](case)
    if not case.backward:
        # A product has two inputs, a convolution one and its filters.
        given = [tf.constant(array) for array in (arrays if case.kind == "gemm" else arrays[:1])]
        weights = [tf.Variable(array) for array in arrays[len(given) :]]
        infer = tf.function(lambda *inputs: forward(*inputs, *weights)).get_concrete_function(*given)
        return lambda: infer(*given)
    a, b = (tf.Variable(array) for array in arrays)
    upstream = tf.constant(images(case.upstream) if case.kind == "conv" else case.upstream)

    @tf.function  # type: ignore[untyped-decorator]
    def backward(seed: Any) -> Any:
        with tf.GradientTape() as tape:
            y = forward(a, b)
        return y, tape.gradient(y, (a, b), output_gradients=seed)

    differentiate = backward.get_concrete_function(upstream)
    return lambda: differentiate(upstream)


def images(array: Any) -> Any:
    """Return images with the channels innermost."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1))


def gemm(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the product."""
    first, second = case.transposed
    return [case.values["a"], case.values["b"]], lambda a, b: tf.matmul(a, b, first, second)


def conv(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the convolution; pads as Keras' own models have them, which oneDNN is quickest with."""
    x, w = images(case.values["image"]), case.values["conv.weight"].transpose(2, 3, 1, 0)
    pads, strides = case.pads, case.strides
    # For an odd kernel at stride 1 half of it at each end is what the framework calls the same.
    same = strides == (1, 1) and all(size == 2 * pad + 1 for size, pad in zip(w.shape[:2], pads))

    def forward(a: Any, b: Any) -> Any:
        if not same and any(pads):
            a = tf.pad(a, [(0, 0), *((pad, pad) for pad in pads), (0, 0)])
        return tf.nn.conv2d(a, b, strides, "SAME" if same else "VALID")

    return [x, np.ascontiguousarray(w)], forward


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    found = y.numpy()
    return found.transpose(0, 3, 1, 2) if found.ndim == 4 else found


def gradients(found: Any) -> list[Any]:
    """Return gradients as arrays in any layout."""
    return [gradient.numpy() for gradient in found]
