"""Quantizing in PyTorch: real numbers to steps and back."""

from __future__ import annotations

import warnings
from typing import Any

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators


class QuantizingOperators(TracedOperators):
    """Rounding to steps; see :class:`~benchmarker.plugins.pytorch.integers.IntegerOperators` for integers."""

    def quantize_dequantize(
        self,
        x: Tensor,
        *,
        scale: tuple[float, ...],
        zero_point: int = 0,
        axis: int | None = None,
        signed: bool = True,
        bits: int = 8,
    ) -> Tensor:
        return self._call(rounded, x, scale, zero_point, axis, signed, bits)


def in_steps(x: Any, step: float, zero: int) -> Any:
    """Return float32 numbers as unsigned integers of 8 bits."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once in a process: that PyTorch means to drop its quantized tensors
        return torch.quantize_per_tensor(x, step, zero, torch.quint8).int_repr()


def dequantized(q: Any, step: float, zero: int) -> Any:
    """Return what unsigned integers of 8 bits stand for."""
    import torch

    return torch._make_per_tensor_quantized_tensor(q, step, zero).dequantize()


def channels_in_steps(x: Any, steps: Any, axis: int) -> Any:
    """Return numbers as signed integers of 8 bits, with a step for each channel."""
    import torch

    return x.div(_along(x, steps, axis)).round_().clamp_(-128, 127).to(torch.int8)


def dequantized_channels(q: Any, steps: Any, axis: int) -> Any:
    """Return what signed integers of 8 bits stand for."""
    return q * _along(q, steps, axis)


def rounded(x: Any, steps: Any, zero: int, axis: int | None, signed: bool, bits: int) -> Any:
    """Return numbers as whole steps of any number of bits."""
    low = -(1 << (bits - 1)) if signed else 0
    step = _along(x, steps, axis)
    return x.div(step).round_().add_(zero).clamp_(low, low + (1 << bits) - 1).sub_(zero).mul_(step)


def _along(x: Any, steps: Any, axis: int | None) -> Any:
    import torch

    shape = [1] * x.dim()
    if axis is not None:
        shape[axis] = len(steps)
    dtype = x.dtype if x.is_floating_point() else torch.float32
    return torch.tensor(steps, dtype=dtype, device=x.device).reshape(shape)
