"""DeepBench's products and convolutions as a user of Chainer calls them, defined by running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import chainer
import numpy as np
from by_hand.case import Case, Step
from chainer import functions


def step(case: Case) -> Step:
    """Return one step of a case."""
    arrays, forward = {"gemm": gemm, "conv": conv}[case.kind](case)
    if not case.backward:
        # A product has two inputs, a convolution one and its filters.
        given = arrays if case.kind == "gemm" else [arrays[0], chainer.Parameter(arrays[1])]

        def infer() -> Any:
            with chainer.no_backprop_mode(), chainer.using_config("train", False):
                return forward(*given)

        return infer
    operands, upstream = [chainer.Parameter(array) for array in arrays], np.array(case.upstream)

    def backward() -> Any:
        y = forward(*operands)
        for operand in operands:
            operand.cleargrad()
        y.grad = upstream
        y.backward()
        return y, [operand.grad for operand in operands]

    return backward


def gemm(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the product; the layer's own call where it is one."""
    arrays = [np.array(case.values[name]) for name in ("a", "b")]
    first, second = case.transposed
    if (first, second) == (False, True):
        return arrays, functions.linear
    return arrays, lambda a, b: functions.matmul(a, b, first, second)


def conv(case: Case) -> tuple[list[Any], Callable[..., Any]]:
    """Return the operands and the convolution."""
    arrays = [np.array(case.values[name]) for name in ("image", "conv.weight")]
    strides, pads = case.strides, case.pads
    return arrays, lambda x, w: functions.convolution_2d(x, w, stride=strides, pad=pads)


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    return y.array


def gradients(found: Any) -> list[Any]:
    """Return gradients as arrays in any layout."""
    return list(found)
