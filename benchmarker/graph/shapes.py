"""Shape inference: the meaning of each operator on tensor types, and the check of its arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.graph.operators import Operators
from benchmarker.graph.types import TensorType


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)


def _window_output(
    x: TensorType,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool = False,
) -> tuple[int, ...]:
    """Return the spatial output shape of a sliding window (ONNX ``Conv``/``MaxPool``, explicit pads)."""
    spatial = x.shape[2:]
    rank = len(spatial)
    lengths = (len(kernel), len(strides), len(dilations), len(pads) // 2)
    _require(
        lengths == (rank,) * 4 and len(pads) == 2 * rank,
        f"a window over input {x.shape} needs {rank} kernel sizes, strides and dilations and {2 * rank} pads, "
        f"got kernel {tuple(kernel)}, strides {tuple(strides)}, dilations {tuple(dilations)}, pads {tuple(pads)}",
    )
    _require(
        min((*kernel, *strides, *dilations), default=1) >= 1 and min(pads, default=0) >= 0,
        f"kernel, strides and dilations must be at least 1 and pads at least 0, got kernel {tuple(kernel)}, "
        f"strides {tuple(strides)}, dilations {tuple(dilations)}, pads {tuple(pads)}",
    )
    sizes = []
    for axis in range(rank):
        begin, end = pads[axis], pads[rank + axis]
        covered = (kernel[axis] - 1) * dilations[axis] + 1
        room = spatial[axis] + begin + end - covered
        _require(
            room >= 0,
            f"a window of {covered} does not fit an axis of size {spatial[axis]} padded by {begin} and {end}; "
            "make the input larger or the kernel smaller",
        )
        size = room // strides[axis] + 1
        if ceil_mode:
            size = math.ceil(room / strides[axis]) + 1
            if (size - 1) * strides[axis] >= spatial[axis] + begin:
                size -= 1
        sizes.append(size)
    return tuple(sizes)


def broadcast(a: TensorType, b: TensorType) -> TensorType:
    """Return the type of an elementwise result under NumPy's broadcasting."""
    rank = max(len(a.shape), len(b.shape))
    left = (1,) * (rank - len(a.shape)) + a.shape
    right = (1,) * (rank - len(b.shape)) + b.shape
    _require(
        all(m == n or 1 in (m, n) for m, n in zip(left, right)),
        f"shapes {a.shape} and {b.shape} do not broadcast",
    )
    return TensorType(tuple(n if m == 1 else m for m, n in zip(left, right)), a.dtype)


class Shapes(Operators):
    """Every tensor is its :class:`TensorType`."""

    def conv(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> TensorType:
        _require(len(x.shape) >= 3, f"a convolution needs an input N C spatial..., got {x.shape}")
        filters, per_group = w.shape[:2]
        _require(
            group >= 1 and x.shape[1] == per_group * group and filters % group == 0,
            f"a convolution in {group} groups of {x.shape[1]} channels into {filters} filters needs both "
            f"to be multiples of the number of groups",
        )
        spatial = _window_output(x, w.shape[2:], strides, pads, dilations)
        return TensorType((x.shape[0], filters, *spatial), x.dtype)

    def max_pool(
        self,
        x: TensorType,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> TensorType:
        ones = (1,) * len(kernel_shape)
        spatial = _window_output(x, kernel_shape, strides, pads, ones, ceil_mode)
        return TensorType((*x.shape[:2], *spatial), x.dtype)

    def average_pool(
        self,
        x: TensorType,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> TensorType:
        ones = (1,) * len(kernel_shape)
        return TensorType((*x.shape[:2], *_window_output(x, kernel_shape, strides, pads, ones)), x.dtype)

    def global_average_pool(self, x: TensorType) -> TensorType:
        return TensorType((*x.shape[:2], *(1,) * (len(x.shape) - 2)), x.dtype)

    def gemm(
        self,
        a: TensorType,
        b: TensorType,
        c: TensorType | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> TensorType:
        _require(len(a.shape) == len(b.shape) == 2, f"gemm needs matrices, got {a.shape} and {b.shape}")
        rows, inner = a.shape[::-1] if trans_a else a.shape
        other, columns = b.shape[::-1] if trans_b else b.shape
        _require(inner == other, f"gemm of {a.shape} and {b.shape}: inner sizes {inner} and {other} differ")
        result = TensorType((rows, columns), a.dtype)
        if c is not None:
            _require(
                broadcast(c, result).shape == result.shape,
                f"gemm: {c.shape} does not broadcast to {result.shape}",
            )
        return result

    def batch_normalization(
        self,
        x: TensorType,
        scale: TensorType,
        b: TensorType,
        mean: TensorType,
        var: TensorType,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> TensorType:
        for name, value in (("scale", scale), ("b", b), ("mean", mean), ("var", var)):
            _require(
                value.shape == (x.shape[1],),
                f"batch_normalization: {name} must have shape ({x.shape[1]},), got {value.shape}",
            )
        return x

    def relu(self, x: TensorType) -> TensorType:
        return x

    def sigmoid(self, x: TensorType) -> TensorType:
        return x

    def tanh(self, x: TensorType) -> TensorType:
        return x

    def add(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def mul(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def dropout(self, x: TensorType, *, ratio: float = 0.5) -> TensorType:
        _require(0.0 <= ratio < 1.0, f"dropout: ratio must be at least 0 and below 1, got {ratio}")
        return x

    def softmax(self, x: TensorType, *, axis: int = -1) -> TensorType:
        _require(-len(x.shape) <= axis < len(x.shape), f"softmax: axis {axis} is not an axis of {x.shape}")
        return x

    def reduce_mean(self, x: TensorType) -> TensorType:
        return TensorType((), x.dtype)

    def reshape(self, x: TensorType, *, shape: tuple[int, ...]) -> TensorType:
        _require(
            all(size != 0 or axis < len(x.shape) for axis, size in enumerate(shape)),
            f"reshape of {x.shape} to {shape}: a 0 must stand at an axis that the input has",
        )
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        if sizes.count(-1) == 1:
            rest = -math.prod(sizes)
            sizes[sizes.index(-1)] = x.elements // rest if rest else 0
        _require(
            math.prod(sizes) == x.elements and min(sizes, default=1) >= 0,
            f"reshape of {x.shape} to {shape}: the numbers of elements differ",
        )
        return TensorType(tuple(sizes), x.dtype)

    def transpose(self, x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
        _require(
            sorted(perm) == list(range(len(x.shape))),
            f"transpose: {perm} is not a permutation of the {len(x.shape)} axes of {x.shape}",
        )
        return TensorType(tuple(x.shape[axis] for axis in perm), x.dtype)

    def lstm(
        self, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *, hidden_size: int
    ) -> tuple[TensorType, TensorType, TensorType]:
        _require(len(x.shape) == 3, f"lstm needs an input (T, N, I), got {x.shape}")
        steps, batch, size = x.shape
        h = hidden_size
        for name, value, shape in (
            ("w", w, (1, 4 * h, size)),
            ("r", r, (1, 4 * h, h)),
            ("b", b, (1, 8 * h)),
        ):
            _require(value.shape == shape, f"lstm: {name} must have shape {shape}, got {value.shape}")
        last = TensorType((1, batch, h), x.dtype)
        return TensorType((steps, 1, batch, h), x.dtype), last, last

    def softmax_cross_entropy_loss(self, scores: TensorType, labels: TensorType) -> TensorType:
        _require(
            len(scores.shape) == 2 and labels.shape == scores.shape[:1],
            f"softmax_cross_entropy_loss needs scores (N, C) and labels (N,), got {scores.shape} and {labels.shape}",
        )
        return TensorType((), scores.dtype)
