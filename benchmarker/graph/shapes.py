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


def _same_shape(operator: str, wanted: tuple[int, ...], **values: TensorType) -> None:
    for name, value in values.items():
        _require(value.shape == wanted, f"{operator}: {name} must have shape {wanted}, got {value.shape}")


def _integers(operator: str, indices: TensorType) -> None:
    _require(indices.dtype == "int64", f"{operator} needs int64 indices, got {indices.dtype}")


def _recurrent(
    operator: str,
    gates: int,
    x: TensorType,
    weights: tuple[TensorType, TensorType, TensorType],
    hidden: int,
    direction: str,
) -> tuple[TensorType, TensorType]:
    """Return the types of ``y`` and ``y_h`` of a recurrent layer."""
    _require(len(x.shape) == 3, f"{operator} needs an input (T, N, I), got {x.shape}")
    _require(
        direction in ("forward", "bidirectional"),
        f"{operator}: the direction must be forward or bidirectional, got '{direction}'",
    )
    directions = 2 if direction == "bidirectional" else 1
    steps, batch, size = x.shape
    wanted = (
        (directions, gates * hidden, size),
        (directions, gates * hidden, hidden),
        (directions, 2 * gates * hidden),
    )
    for name, value, shape in zip("wrb", weights, wanted):
        _same_shape(operator, shape, **{name: value})
    return (
        TensorType((steps, directions, batch, hidden), x.dtype),
        TensorType((directions, batch, hidden), x.dtype),
    )


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
        self._axis("softmax", x, axis)
        return x

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

    def conv_transpose(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> TensorType:
        rank = len(x.shape) - 2
        lengths = (len(w.shape) - 2, len(strides), len(dilations), len(output_padding), len(pads) // 2)
        _require(
            rank >= 1 and lengths == (rank,) * 5 and len(pads) == 2 * rank,
            f"a transposed convolution of {x.shape} needs {rank} kernel sizes, strides, dilations and output "
            f"paddings and {2 * rank} pads",
        )
        _require(
            group >= 1 and x.shape[1] == w.shape[0] and w.shape[0] % group == 0,
            f"a transposed convolution in {group} groups of {x.shape[1]} channels needs a weight of as many, "
            f"and a multiple of the groups; its shape is {w.shape}",
        )
        _require(
            all(0 <= extra < max(s, d) for extra, s, d in zip(output_padding, strides, dilations)),
            f"output padding {output_padding} must be smaller than stride {strides} or dilation {dilations}",
        )
        sizes = tuple(
            strides[i] * (x.shape[2 + i] - 1)
            + output_padding[i]
            + (w.shape[2 + i] - 1) * dilations[i]
            + 1
            - pads[i]
            - pads[rank + i]
            for i in range(rank)
        )
        _require(
            min(sizes) >= 1, f"a transposed convolution of {x.shape} by {w.shape} leaves nothing: {sizes}"
        )
        return TensorType((x.shape[0], w.shape[1] * group, *sizes), x.dtype)

    def resize(self, x: TensorType, *, sizes: tuple[int, ...], mode: str = "nearest") -> TensorType:
        _require(
            len(x.shape) == 4 and len(sizes) == 2 and min(sizes) >= 1,
            f"resize needs an input (N, C, H, W) and two sizes of at least 1, got {x.shape} and {sizes}",
        )
        _require(mode in ("nearest", "linear"), f"resize: the mode must be nearest or linear, got '{mode}'")
        _require(
            mode == "linear" or all(new % old == 0 for new, old in zip(sizes, x.shape[2:])),
            f"resize by nearest needs multiples of the old sizes, got {x.shape[2:]} to {sizes}",
        )
        return TensorType((*x.shape[:2], *sizes), x.dtype)

    def matmul(self, a: TensorType, b: TensorType) -> TensorType:
        _require(
            len(a.shape) >= 2 and len(b.shape) >= 2 and a.shape[-1] == b.shape[-2],
            f"matmul of {a.shape} and {b.shape}: the last axis of one must fit the last but one of the other",
        )
        before = broadcast(TensorType(a.shape[:-2]), TensorType(b.shape[:-2])).shape
        return TensorType((*before, a.shape[-2], b.shape[-1]), a.dtype)

    def sub(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def div(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def affine(self, x: TensorType, *, alpha: float = 1.0, beta: float = 0.0) -> TensorType:
        return x

    def exp(self, x: TensorType) -> TensorType:
        return x

    def log(self, x: TensorType) -> TensorType:
        return x

    def sqrt(self, x: TensorType) -> TensorType:
        return x

    def abs(self, x: TensorType) -> TensorType:
        return x

    def erf(self, x: TensorType) -> TensorType:
        return x

    def clip(self, x: TensorType, *, min: float, max: float) -> TensorType:
        _require(min <= max, f"clip: min must be at most max, got {min} and {max}")
        return x

    def leaky_relu(self, x: TensorType, *, alpha: float = 0.01) -> TensorType:
        return x

    def softplus(self, x: TensorType) -> TensorType:
        return x

    def cast(self, x: TensorType) -> TensorType:
        _require(x.dtype == "int64", f"cast turns int64 into floating-point values, got {x.dtype}")
        return TensorType(x.shape)

    def stop_gradient(self, x: TensorType) -> TensorType:
        return x

    def log_softmax(self, x: TensorType, *, axis: int = -1) -> TensorType:
        self._axis("log_softmax", x, axis)
        return x

    def layer_normalization(
        self, x: TensorType, scale: TensorType, b: TensorType, *, axis: int = -1, epsilon: float = 1e-5
    ) -> TensorType:
        features = x.shape[self._axis("layer_normalization", x, axis) :]
        _same_shape("layer_normalization", features, scale=scale, b=b)
        return x

    def group_normalization(
        self, x: TensorType, scale: TensorType, b: TensorType, *, num_groups: int, epsilon: float = 1e-5
    ) -> TensorType:
        _require(
            len(x.shape) >= 2 and num_groups >= 1 and x.shape[1] % num_groups == 0,
            f"group_normalization: the channels of {x.shape} must be a multiple of {num_groups} groups",
        )
        _same_shape("group_normalization", x.shape[1:2], scale=scale, b=b)
        return x

    def rms_normalization(self, x: TensorType, scale: TensorType, *, epsilon: float = 1e-5) -> TensorType:
        _same_shape("rms_normalization", x.shape[-1:], scale=scale)
        return super().rms_normalization(x, scale, epsilon=epsilon)  # type: ignore[no-any-return]

    def reduce_mean(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_mean", x, axes, keepdims)

    def reduce_sum(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_sum", x, axes, keepdims)

    def reduce_max(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_max", x, axes, keepdims)

    def top_k(self, x: TensorType, *, k: int) -> TensorType:
        _require(
            len(x.shape) >= 1 and 1 <= k <= x.shape[-1],
            f"top_k: k must be between 1 and the size of the last axis of {x.shape}, got {k}",
        )
        return TensorType((*x.shape[:-1], k), x.dtype)

    def concat(self, *xs: TensorType, axis: int) -> TensorType:
        _require(len(xs) >= 2, f"concat joins two tensors or more, got {len(xs)}")
        place = self._axis("concat", xs[0], axis)
        others = {x.shape[:place] + x.shape[place + 1 :] for x in xs}
        _require(
            len(others) == 1 and len({len(x.shape) for x in xs}) == 1,
            f"concat along axis {axis}: the other axes of {', '.join(str(x.shape) for x in xs)} differ",
        )
        first = xs[0].shape
        return TensorType((*first[:place], sum(x.shape[place] for x in xs), *first[place + 1 :]), xs[0].dtype)

    def split(self, x: TensorType, *, axis: int, num_outputs: int) -> tuple[TensorType, ...]:
        place = self._axis("split", x, axis)
        _require(
            num_outputs >= 2 and x.shape[place] % num_outputs == 0,
            f"split: axis {axis} of {x.shape} does not come apart into {num_outputs} equal parts, two or more",
        )
        part = (*x.shape[:place], x.shape[place] // num_outputs, *x.shape[place + 1 :])
        return (TensorType(part, x.dtype),) * num_outputs

    def slice(
        self,
        x: TensorType,
        *,
        axes: tuple[int, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
        steps: tuple[int, ...] = (),
    ) -> TensorType:
        steps = steps or (1,) * len(axes)
        _require(
            len(axes) == len(starts) == len(ends) == len(steps) == len(set(axes)),
            f"slice: axes {axes}, starts {starts}, ends {ends} and steps {steps} must be as many, each axis once",
        )
        sizes = list(x.shape)
        for axis, start, end, step in zip(axes, starts, ends, steps):
            _require(
                0 <= axis < len(sizes) and step >= 1 and 0 <= start < end <= x.shape[axis],
                f"slice {start}:{end}:{step} of axis {axis} of {x.shape} is empty or outside",
            )
            sizes[axis] = len(range(start, end, step))
        return TensorType(tuple(sizes), x.dtype)

    def pad(self, x: TensorType, *, pads: tuple[int, ...], value: float = 0.0) -> TensorType:
        rank = len(x.shape)
        _require(
            len(pads) == 2 * rank and min(pads, default=0) >= 0,
            f"pad of {x.shape} needs {2 * rank} pads of at least 0, got {pads}",
        )
        return TensorType(tuple(b + n + e for b, n, e in zip(pads[:rank], x.shape, pads[rank:])), x.dtype)

    def expand(self, x: TensorType, *, shape: tuple[int, ...]) -> TensorType:
        _require(
            broadcast(x, TensorType(shape)).shape == tuple(shape),
            f"expand: {x.shape} does not broadcast to {shape}",
        )
        return TensorType(tuple(shape), x.dtype)

    def gather(self, x: TensorType, indices: TensorType, *, axis: int = 0) -> TensorType:
        place = self._axis("gather", x, axis)
        _integers("gather", indices)
        return TensorType((*x.shape[:place], *indices.shape, *x.shape[place + 1 :]), x.dtype)

    def gather_elements(self, x: TensorType, indices: TensorType, *, axis: int = -1) -> TensorType:
        place = self._axis("gather_elements", x, axis)
        _integers("gather_elements", indices)
        others = x.shape[:place] + x.shape[place + 1 :]
        _require(
            len(indices.shape) == len(x.shape)
            and indices.shape[:place] + indices.shape[place + 1 :] == others,
            f"gather_elements along axis {axis}: {indices.shape} must have the shape of {x.shape} but there",
        )
        return TensorType(indices.shape, x.dtype)

    def causal_mask(self, x: TensorType) -> TensorType:
        _require(
            len(x.shape) >= 2 and x.shape[-1] == x.shape[-2],
            f"causal_mask needs scores (..., L, L), got {x.shape}",
        )
        return x

    def lstm(
        self,
        x: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
        *,
        hidden_size: int,
        direction: str = "forward",
    ) -> tuple[TensorType, TensorType, TensorType]:
        y, last = _recurrent("lstm", 4, x, (w, r, b), hidden_size, direction)
        return y, last, last

    def gru(
        self,
        x: TensorType,
        w: TensorType,
        r: TensorType,
        b: TensorType,
        *,
        hidden_size: int,
        direction: str = "forward",
    ) -> tuple[TensorType, TensorType]:
        return _recurrent("gru", 3, x, (w, r, b), hidden_size, direction)

    def softmax_cross_entropy_loss(
        self,
        scores: TensorType,
        labels: TensorType,
        weights: TensorType | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> TensorType:
        _require(
            len(scores.shape) >= 2 and labels.shape == scores.shape[:1] + scores.shape[2:],
            f"softmax_cross_entropy_loss needs scores (N, C, ...) and labels (N, ...), got {scores.shape} and "
            f"{labels.shape}",
        )
        _integers("softmax_cross_entropy_loss", labels)
        if weights is not None:
            _same_shape("softmax_cross_entropy_loss", scores.shape[1:2], weights=weights)
        _require(
            reduction in ("none", "sum", "mean"),
            f"softmax_cross_entropy_loss: the reduction must be none, sum or mean, got '{reduction}'",
        )
        return TensorType(labels.shape if reduction == "none" else (), scores.dtype)

    def ctc_loss(self, scores: TensorType, labels: TensorType) -> TensorType:
        _require(
            len(scores.shape) == 3
            and len(labels.shape) == 2
            and labels.shape[0] == scores.shape[1]
            and labels.shape[1] <= scores.shape[0],
            f"ctc_loss needs scores (T, N, C) and labels (N, S) with S at most T, got {scores.shape} and "
            f"{labels.shape}",
        )
        _integers("ctc_loss", labels)
        return TensorType((), scores.dtype)

    def _axis(self, operator: str, x: TensorType, axis: int) -> int:
        rank = len(x.shape)
        _require(-rank <= axis < rank, f"{operator}: axis {axis} is not an axis of {x.shape}")
        return axis % rank

    def _reduced(self, operator: str, x: TensorType, axes: tuple[int, ...], keepdims: bool) -> TensorType:
        over = {self._axis(operator, x, axis) for axis in axes} or set(range(len(x.shape)))
        if keepdims:
            return TensorType(tuple(1 if i in over else n for i, n in enumerate(x.shape)), x.dtype)
        return TensorType(tuple(n for i, n in enumerate(x.shape) if i not in over), x.dtype)
