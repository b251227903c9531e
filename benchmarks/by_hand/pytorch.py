"""DeepBench's operators as a user of PyTorch calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn import functional

Values = Mapping[str, Any]
Step = Callable[[], Any]

GATES = {"vanilla": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
"""Where PyTorch's gates i, f, c, o and r, z, h stand in ONNX's order i, o, f, c and z, r, h."""


def step(problem: str, parameters: Values, values: Values, mode: str) -> Step:
    """Return one step of a problem.

    Parameters
    ----------
    problem, parameters
        As in a suite.
    values : mapping
        All operands and weights by name and, in mode ``gradient``, the upstream gradient.
    mode : {"inference", "gradient"}
        Forward, or forward and all gradients of operands and weights.
    """
    make = {"deepbench_gemm": gemm, "deepbench_conv": conv, "deepbench_rnn": rnn}[problem]
    operands, forward = make(parameters, values)
    if mode == "inference":

        def infer() -> Any:
            with torch.inference_mode():
                return forward()

        return infer
    for operand in operands:
        operand.requires_grad_(True)
    upstream = tensor(next(value for name, value in values.items() if name.startswith("upstream.")))
    if upstream.dim() == 4 and problem == "deepbench_conv":
        upstream = upstream.contiguous(memory_format=torch.channels_last)

    def backward() -> Any:
        y = forward()
        return y, torch.autograd.grad(y, operands, upstream)

    return backward


def tensor(array: Any) -> torch.Tensor:
    """Return a copy as a tensor."""
    return torch.from_numpy(np.array(array))


def gemm(p: Values, values: Values) -> tuple[list[torch.Tensor], Step]:
    """Return the operands and the product."""
    a, b = tensor(values["a"]), tensor(values["b"])
    if p["a_transposed"]:
        return [a, b], lambda: torch.mm(a.t(), b)
    if p["b_transposed"]:
        return [a, b], lambda: torch.mm(a, b.t())
    return [a, b], lambda: torch.mm(a, b)


def conv(p: Values, values: Values) -> tuple[list[torch.Tensor], Step]:
    """Return the operands and the convolution, with the channels innermost as ours."""
    x, w = (
        tensor(values[name]).contiguous(memory_format=torch.channels_last)
        for name in ("image", "conv.weight")
    )
    stride, pad = (p["stride_h"], p["stride_w"]), (p["pad_h"], p["pad_w"])
    return [x, w], lambda: functional.conv2d(x, w, None, stride, pad)


def rnn(p: Values, values: Values) -> tuple[list[torch.Tensor], Step]:
    """Return input and weights, and the layer called as ``torch.nn`` calls it."""
    kind, prefix = p["type"], {"vanilla": "rnn"}.get(p["type"], p["type"])
    x = tensor(values["sequence"])
    w, r = (tensor(_gates(values[f"{prefix}.{name}"][0], kind)) for name in ("w", "r"))
    biases = [tensor(_gates(half, kind)) for half in np.split(values[f"{prefix}.b"][0], 2)]
    weights = [w, r, *biases]
    layer = {"vanilla": torch.rnn_relu, "lstm": torch.lstm, "gru": torch.gru}[kind]

    def forward() -> Any:
        zeros = x.new_zeros(1, x.size(1), p["hidden"])
        state = (zeros, zeros) if kind == "lstm" else zeros
        y = layer(x, state, weights, True, 1, 0.0, torch.is_grad_enabled(), False, False)[0]
        return y.unsqueeze(1)

    return [x, *weights], forward


def _gates(array: Any, kind: str) -> Any:
    parts = np.split(array, len(GATES[kind]))
    return np.concatenate([parts[place] for place in GATES[kind]])


def output(result: Any) -> Any:
    """Return the forward result of a step as an array."""
    found = result[0] if isinstance(result, tuple) else result
    return found.detach().numpy()
