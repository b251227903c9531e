"""The native meaning of each operator: a call of PyTorch's own function on values that ``torch.fx`` traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Operators, Tensor


def _halves(pads: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(pads) // 2
    return tuple(pads[:rank]), tuple(pads[rank:])


def _pad_argument(begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the pads in the order of ``torch.nn.functional.pad``: last axis first, begin before end."""
    return [size for pair in reversed(list(zip(begins, ends))) for size in pair]


def _pools_natively(kernel: Sequence[int], pads: Sequence[int]) -> bool:
    """Whether PyTorch's pooling takes these pads itself: symmetric, at most half the window."""
    begins, ends = _halves(pads)
    return begins == ends and all(2 * pad <= size for pad, size in zip(begins, kernel))


def padded_max_pool(
    x: Tensor, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], ceil_mode: bool
) -> Tensor:
    """Maximum pooling of an input that is first padded with minus infinity."""
    import torch

    begins, ends = list(pads[: len(kernel)]), list(pads[len(kernel) :])
    for axis, (size, stride) in enumerate(zip(kernel, strides)):
        if not ceil_mode:
            continue
        extent = x.shape[2 + axis] + begins[axis]
        windows = math.ceil((extent + ends[axis] - size) / stride) + 1
        if (windows - 1) * stride >= extent:
            windows -= 1
        ends[axis] = (windows - 1) * stride + size - extent
    padded = torch.nn.functional.pad(x, _pad_argument(begins, ends), value=-math.inf)
    return getattr(torch, f"max_pool{len(kernel)}d")(padded, kernel, strides)


def padded_average_pool(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    count_include_pad: bool,
) -> Tensor:
    """Mean pooling of an input that is first padded with zeros, which count only if asked for."""
    import torch

    functional = torch.nn.functional
    pool = getattr(functional, f"avg_pool{len(kernel)}d")
    padding = _pad_argument(*_halves(pads))
    mean = pool(functional.pad(x, padding), kernel, strides)
    if count_include_pad:
        return mean
    ones = functional.pad(x.new_ones((1, 1, *x.shape[2:])), padding)
    return mean / pool(ones, kernel, strides)


def spatial_mean(x: Tensor) -> Tensor:
    """Mean over all axes after the first two, which stay with size 1."""
    return x.mean(tuple(range(2, x.dim())), keepdim=True)


class PytorchOperators(Operators):
    """Every tensor is a ``torch.fx.Proxy``: each call becomes a line of the generated program.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch and dropout drops.
    dropout : bool
        Whether dropout drops at all; off to compare gradients with other frameworks.
    """

    def __init__(self, *, training: bool = False, dropout: bool = True) -> None:
        super().__init__(training=training)
        import torch

        self._torch: Any = torch
        self._functional: Any = torch.nn.functional
        self._drops = training and dropout

    def _by_rank(self, module: Any, name: str, rank: int) -> Callable[..., Tensor]:
        if not 1 <= rank <= 3:
            raise UnsupportedError(f"PyTorch's {name} takes 1, 2 or 3 spatial axes, not {rank}")
        function: Callable[..., Tensor] = getattr(module, f"{name}{rank}d")
        return function

    @staticmethod
    def _call(function: Callable[..., Tensor], x: Tensor, *arguments: Any) -> Tensor:
        """Make one line of the program of a function of ours that needs the sizes of ``x``."""
        return x.tracer.create_proxy("call_function", function, (x, *arguments), {})

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        function = self._by_rank(self._torch, "conv", len(strides))
        begins, ends = _halves(pads)
        if begins != ends:
            x = self._functional.pad(x, _pad_argument(begins, ends))
            begins = (0,) * len(strides)
        return function(x, w, b, strides, begins, dilations, group)

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        rank = len(kernel_shape)
        function = self._by_rank(self._torch, "max_pool", rank)
        if not _pools_natively(kernel_shape, pads):
            return self._call(padded_max_pool, x, kernel_shape, strides, pads, ceil_mode)
        return function(x, kernel_shape, strides, pads[:rank], (1,) * rank, ceil_mode)

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        rank = len(kernel_shape)
        function = self._by_rank(self._functional, "avg_pool", rank)
        if not _pools_natively(kernel_shape, pads):
            return self._call(padded_average_pool, x, kernel_shape, strides, pads, count_include_pad)
        return function(x, kernel_shape, strides, pads[:rank], False, count_include_pad)

    def global_average_pool(self, x: Tensor) -> Tensor:
        return self._call(spatial_mean, x)

    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> Tensor:
        if trans_b and not trans_a and alpha == 1.0 and (c is None or beta == 1.0):
            return self._functional.linear(a, b, c)
        a = a.t() if trans_a else a
        b = b.t() if trans_b else b
        if c is not None:
            return self._torch.addmm(c, a, b, beta=beta, alpha=alpha)
        product = self._torch.mm(a, b)
        return product if alpha == 1.0 else product * alpha

    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        # PyTorch's momentum is the weight of the new value; the last argument lets cuDNN do it.
        return self._torch.batch_norm(x, scale, b, mean, var, self.training, 1.0 - momentum, epsilon, True)

    def relu(self, x: Tensor) -> Tensor:
        return self._torch.relu(x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._torch.sigmoid(x)

    def tanh(self, x: Tensor) -> Tensor:
        return self._torch.tanh(x)

    def silu(self, x: Tensor) -> Tensor:
        return self._functional.silu(x)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.add(a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.mul(a, b)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return self._torch.dropout(x, ratio, True) if self._drops and ratio > 0.0 else x

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._torch.softmax(x, axis)

    def reduce_mean(self, x: Tensor) -> Tensor:
        return self._torch.mean(x)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._torch.reshape(
            x, tuple(x.size(axis) if size == 0 else size for axis, size in enumerate(shape))
        )

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._torch.permute(x, perm)

    def flatten(self, x: Tensor) -> Tensor:
        return self._torch.flatten(x, 1)

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, hidden_size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``y``, ``y_h`` and ``y_c``; ``b`` is the pair of the input's and the recurrent bias."""
        zeros = x.new_zeros(1, x.size(1), hidden_size)
        weights = [w, r, *b]
        # Biases yes, one layer, no dropout between layers, one direction, time axis first.
        result = self._torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, self.training, False, False)
        return result[0].unsqueeze(1), result[1], result[2]

    def softmax_cross_entropy_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return self._functional.cross_entropy(scores, labels)
