"""DeepBench's operators as a user of PyTorch calls them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from by_hand.case import GATES, Case, Step
from torch.nn import functional


def step(case: Case) -> Step:
    """Return one step of a case."""
    operands, forward = {"gemm": gemm, "conv": conv, "rnn": rnn}[case.kind](case)
    if not case.backward:

        def infer() -> Any:
            with torch.inference_mode():
                return forward()

        return infer
    for operand in operands:
        operand.requires_grad_(True)
    upstream = images(case.upstream) if case.kind == "conv" else torch.tensor(case.upstream)

    def backward() -> Any:
        y = forward()
        return y, torch.autograd.grad(y, operands, upstream)

    return backward


def images(array: Any) -> torch.Tensor:
    """Return a copy of images or filters with the channels innermost, as is best on a processor."""
    return torch.tensor(array).contiguous(memory_format=torch.channels_last)


def gemm(case: Case) -> tuple[list[torch.Tensor], Step]:
    """Return the operands and the product; the layer's own call where it is one."""
    a, b = (torch.tensor(case.values[name]) for name in ("a", "b"))
    if case.transposed == (False, True):
        return [a, b], lambda: functional.linear(a, b)
    if case.transposed == (True, False):
        return [a, b], lambda: torch.mm(a.t(), b)
    if case.transposed == (True, True):
        return [a, b], lambda: torch.mm(a.t(), b.t())
    return [a, b], lambda: torch.mm(a, b)


def conv(case: Case) -> tuple[list[torch.Tensor], Step]:
    """Return the operands and the convolution."""
    x, w = (images(case.values[name]) for name in ("image", "conv.weight"))
    strides, pads = case.strides, case.pads
    return [x, w], lambda: functional.conv2d(x, w, None, strides, pads)


def rnn(case: Case) -> tuple[list[torch.Tensor], Step]:
    """Return input and weights, and the layer called as ``torch.nn`` calls it."""
    kind, hidden = case.sizes["type"], case.sizes["hidden"]
    x = torch.tensor(case.values["sequence"])
    w, r, b = case.weights
    weights = [torch.tensor(_gates(part, kind)) for part in (w[0], r[0], *np.split(b[0], 2))]
    layer = {"vanilla": torch.rnn_relu, "lstm": torch.lstm, "gru": torch.gru}[kind]
    training = case.backward

    def forward() -> Any:
        zeros = x.new_zeros(1, x.size(1), hidden)
        state = (zeros, zeros) if kind == "lstm" else zeros
        y = layer(x, state, weights, True, 1, 0.0, training, False, False)[0]
        return y.unsqueeze(1)

    return [x, *weights], forward


def _gates(array: Any, kind: str) -> Any:
    parts = np.split(array, len(GATES[kind]))
    return np.concatenate([parts[place] for place in GATES[kind]])


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    return y.detach().numpy()


def gradients(found: Any) -> list[Any]:
    """Return gradients as arrays in any layout."""
    return [gradient.numpy() for gradient in found]
