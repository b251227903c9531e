"""DeepBench's products and convolutions as a user of JAX calls them, each step under ``jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from by_hand.case import Case, Step
from jax import lax, numpy


def step(case: Case) -> Step:
    """Return one step of a case."""
    operands, forward = {"gemm": gemm, "conv": conv}[case.kind](case)
    ready = jax.block_until_ready
    if not case.backward:
        infer = jax.jit(forward)
        return lambda: ready(infer(*operands))
    upstream = images(case.upstream) if case.kind == "conv" else jax.device_put(case.upstream)

    @jax.jit
    def backward(a: Any, b: Any, seed: Any) -> Any:
        y, pullback = jax.vjp(forward, a, b)
        return y, pullback(seed)

    return lambda: ready(backward(*operands, upstream))


def images(array: Any) -> Any:
    """Return a copy of images with the channels innermost, as is best on a processor."""
    return jax.device_put(np.ascontiguousarray(array.transpose(0, 2, 3, 1)))


def gemm(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the product."""
    first, second = case.transposed

    def forward(a: Any, b: Any) -> Any:
        return numpy.matmul(a.T if first else a, b.T if second else b)

    return [jax.device_put(case.values[name]) for name in ("a", "b")], forward


def conv(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the convolution."""
    w = jax.device_put(np.ascontiguousarray(case.values["conv.weight"].transpose(2, 3, 1, 0)))
    strides, pads = case.strides, [(pad, pad) for pad in case.pads]

    def forward(a: Any, b: Any) -> Any:
        axes = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(a, b, strides, pads, dimension_numbers=axes)

    return [images(case.values["image"]), w], forward


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    found = np.asarray(y)
    return found.transpose(0, 3, 1, 2) if found.ndim == 4 else found


def gradients(found: Any) -> list[Any]:
    """Return gradients as arrays in any layout."""
    return [np.asarray(gradient) for gradient in found]
