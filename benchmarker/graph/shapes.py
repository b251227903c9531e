"""Shape inference: the meaning of each operator on tensor types, and the check of its arguments."""

from __future__ import annotations

import math

from benchmarker.errors import require
from benchmarker.graph.attributes import Gemm, PlainRecurrent, Recurrent, Slice
from benchmarker.graph.custom import Body, registered
from benchmarker.graph.index_shapes import IndexShapes
from benchmarker.graph.shape_checks import broadcast, require_integers, require_shape
from benchmarker.graph.types import TensorType


def _recurrent(
    operator: str, gates: int, x: TensorType, weights: tuple[TensorType, ...], layer: Recurrent
) -> tuple[TensorType, TensorType]:
    """Return the types of ``y`` and ``y_h`` of a recurrent layer."""
    require(len(x.shape) == 3, f"{operator} needs an input (T, N, I), got {x.shape}")
    require(
        layer.direction in ("forward", "bidirectional"),
        f"{operator}: the direction must be forward or bidirectional, got '{layer.direction}'",
    )
    steps, batch, size = x.shape
    for name, value, shape in zip("wrb", weights, layer.weight_shapes(gates, size)):
        require_shape(operator, shape, **{name: value})
    state = (layer.directions, batch, layer.hidden_size)
    return TensorType((steps, *state), x.dtype), TensorType(state, x.dtype)


class Shapes(IndexShapes):
    """Every tensor is its :class:`TensorType`."""

    def gemm(self, a: TensorType, b: TensorType, c: TensorType | None = None, *, product: Gemm) -> TensorType:
        require(len(a.shape) == len(b.shape) == 2, f"gemm needs matrices, got {a.shape} and {b.shape}")
        rows, inner = a.shape[::-1] if product.trans_a else a.shape
        other, columns = b.shape[::-1] if product.trans_b else b.shape
        require(inner == other, f"gemm of {a.shape} and {b.shape}: inner sizes {inner} and {other} differ")
        result = TensorType((rows, columns), a.dtype)
        if c is not None:
            require(
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
        require_shape("batch_normalization", x.shape[1:2], scale=scale, b=b, mean=mean, var=var)
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
        require(0.0 <= ratio < 1.0, f"dropout: ratio must be at least 0 and below 1, got {ratio}")
        return x

    def softmax(self, x: TensorType, *, axis: int = -1) -> TensorType:
        self._axis("softmax", x, axis)
        return x

    def reshape(self, x: TensorType, *, shape: tuple[int, ...]) -> TensorType:
        require(
            all(size != 0 or axis < len(x.shape) for axis, size in enumerate(shape)),
            f"reshape of {x.shape} to {shape}: a 0 must be at an axis that the input has",
        )
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        if sizes.count(-1) == 1:
            rest = -math.prod(sizes)
            sizes[sizes.index(-1)] = x.elements // rest if rest else 0
        require(
            math.prod(sizes) == x.elements and min(sizes, default=1) >= 0,
            f"reshape of {x.shape} to {shape}: the numbers of elements differ",
        )
        return TensorType(tuple(sizes), x.dtype)

    def transpose(self, x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
        require(
            sorted(perm) == list(range(len(x.shape))),
            f"transpose: {perm} is not a permutation of the {len(x.shape)} axes of {x.shape}",
        )
        return TensorType(tuple(x.shape[axis] for axis in perm), x.dtype)

    def matmul(self, a: TensorType, b: TensorType) -> TensorType:
        require(
            len(a.shape) >= 2 and len(b.shape) >= 2 and a.shape[-1] == b.shape[-2],
            f"matmul of {a.shape} and {b.shape}: the last axis of the first must match the last but one of the second",
        )
        before = broadcast(TensorType(a.shape[:-2]), TensorType(b.shape[:-2])).shape
        return TensorType((*before, a.shape[-2], b.shape[-1]), a.dtype)

    def sub(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def div(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def minimum(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def maximum(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def pow(self, a: TensorType, b: TensorType) -> TensorType:
        return broadcast(a, b)

    def affine(self, x: TensorType, *, alpha: float = 1.0, beta: float = 0.0) -> TensorType:
        return x

    def exp(self, x: TensorType) -> TensorType:
        return x

    def log(self, x: TensorType) -> TensorType:
        return x

    def sqrt(self, x: TensorType) -> TensorType:
        return x

    def log1p(self, x: TensorType) -> TensorType:
        return x

    def expm1(self, x: TensorType) -> TensorType:
        return x

    def sin(self, x: TensorType) -> TensorType:
        return x

    def cos(self, x: TensorType) -> TensorType:
        return x

    def tan(self, x: TensorType) -> TensorType:
        return x

    def sign(self, x: TensorType) -> TensorType:
        return x

    def floor(self, x: TensorType) -> TensorType:
        return x

    def ceil(self, x: TensorType) -> TensorType:
        return x

    def round(self, x: TensorType) -> TensorType:
        return x

    def quantize_dequantize(
        self,
        x: TensorType,
        *,
        scale: tuple[float, ...],
        zero_point: int = 0,
        axis: int | None = None,
        signed: bool = True,
        bits: int = 8,
    ) -> TensorType:
        wanted = 1 if axis is None else x.shape[axis]
        require(
            len(scale) == wanted and min(scale) > 0,
            f"quantize_dequantize of {x.shape} along axis {axis} needs {wanted} positive scales, got {len(scale)}",
        )
        return x

    def reciprocal(self, x: TensorType) -> TensorType:
        return x

    def abs(self, x: TensorType) -> TensorType:
        return x

    def erf(self, x: TensorType) -> TensorType:
        return x

    def clip(self, x: TensorType, *, min: float, max: float) -> TensorType:
        require(min <= max, f"clip: min must be at most max, got {min} and {max}")
        return x

    def leaky_relu(self, x: TensorType, *, alpha: float = 0.01) -> TensorType:
        return x

    def softplus(self, x: TensorType) -> TensorType:
        return x

    def stop_gradient(self, x: TensorType) -> TensorType:
        return x

    def log_softmax(self, x: TensorType, *, axis: int = -1) -> TensorType:
        self._axis("log_softmax", x, axis)
        return x

    def layer_normalization(
        self, x: TensorType, scale: TensorType, b: TensorType, *, axis: int = -1, epsilon: float = 1e-5
    ) -> TensorType:
        features = x.shape[self._axis("layer_normalization", x, axis) :]
        require_shape("layer_normalization", features, scale=scale, b=b)
        return x

    def group_normalization(
        self, x: TensorType, scale: TensorType, b: TensorType, *, num_groups: int, epsilon: float = 1e-5
    ) -> TensorType:
        require(
            len(x.shape) >= 2 and num_groups >= 1 and x.shape[1] % num_groups == 0,
            f"group_normalization: the channels of {x.shape} must be a multiple of {num_groups} groups",
        )
        require_shape("group_normalization", x.shape[1:2], scale=scale, b=b)
        return x

    def rms_normalization(self, x: TensorType, scale: TensorType, *, epsilon: float = 1e-5) -> TensorType:
        require_shape("rms_normalization", x.shape[-1:], scale=scale)
        return super().rms_normalization(x, scale, epsilon=epsilon)  # type: ignore[no-any-return]

    def reduce_mean(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_mean", x, axes, keepdims)

    def reduce_sum(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_sum", x, axes, keepdims)

    def reduce_max(self, x: TensorType, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> TensorType:
        return self._reduced("reduce_max", x, axes, keepdims)

    def concat(self, *xs: TensorType, axis: int) -> TensorType:
        require(len(xs) >= 2, f"concat joins two tensors or more, got {len(xs)}")
        place = self._axis("concat", xs[0], axis)
        others = {x.shape[:place] + x.shape[place + 1 :] for x in xs}
        require(
            len(others) == 1 and len({len(x.shape) for x in xs}) == 1,
            f"concat along axis {axis}: the other axes of {', '.join(str(x.shape) for x in xs)} differ",
        )
        first = xs[0].shape
        return TensorType((*first[:place], sum(x.shape[place] for x in xs), *first[place + 1 :]), xs[0].dtype)

    def split(self, x: TensorType, *, axis: int, num_outputs: int) -> tuple[TensorType, ...]:
        place = self._axis("split", x, axis)
        require(
            num_outputs >= 2 and x.shape[place] % num_outputs == 0,
            f"split: axis {axis} of {x.shape} cannot be split into {num_outputs} equal parts, two or more",
        )
        part = (*x.shape[:place], x.shape[place] // num_outputs, *x.shape[place + 1 :])
        return (TensorType(part, x.dtype),) * num_outputs

    def slice(self, x: TensorType, *, taken: Slice) -> TensorType:
        return TensorType(taken.output_shape(x.shape), x.dtype)

    def pad(self, x: TensorType, *, pads: tuple[int, ...], value: float = 0.0) -> TensorType:
        rank = len(x.shape)
        require(
            len(pads) == 2 * rank and min(pads, default=0) >= 0,
            f"pad of {x.shape} needs {2 * rank} pads of at least 0, got {pads}",
        )
        return TensorType(tuple(b + n + e for b, n, e in zip(pads[:rank], x.shape, pads[rank:])), x.dtype)

    def expand(self, x: TensorType, *, shape: tuple[int, ...]) -> TensorType:
        require(
            broadcast(x, TensorType(shape, x.dtype)).shape == tuple(shape),
            f"expand: {x.shape} does not broadcast to {shape}",
        )
        return TensorType(tuple(shape), x.dtype)

    def gather(self, x: TensorType, indices: TensorType, *, axis: int = 0) -> TensorType:
        place = self._axis("gather", x, axis)
        require_integers("gather", indices)
        return TensorType((*x.shape[:place], *indices.shape, *x.shape[place + 1 :]), x.dtype)

    def gather_elements(self, x: TensorType, indices: TensorType, *, axis: int = -1) -> TensorType:
        place = self._axis("gather_elements", x, axis)
        require_integers("gather_elements", indices)
        others = x.shape[:place] + x.shape[place + 1 :]
        require(
            len(indices.shape) == len(x.shape)
            and indices.shape[:place] + indices.shape[place + 1 :] == others,
            f"gather_elements along axis {axis}: {indices.shape} must have the shape of {x.shape} except there",
        )
        return TensorType(indices.shape, x.dtype)

    def causal_mask(self, x: TensorType) -> TensorType:
        require(
            len(x.shape) >= 2 and x.shape[-1] == x.shape[-2],
            f"causal_mask needs scores (..., L, L), got {x.shape}",
        )
        return x

    def rnn(
        self, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *, layer: PlainRecurrent
    ) -> tuple[TensorType, TensorType]:
        require(
            layer.activation in ("tanh", "relu"),
            f"rnn: the activation must be tanh or relu, got '{layer.activation}'",
        )
        return _recurrent("rnn", 1, x, (w, r, b), layer)

    def lstm(
        self, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *, layer: Recurrent
    ) -> tuple[TensorType, TensorType, TensorType]:
        y, last = _recurrent("lstm", 4, x, (w, r, b), layer)
        return y, last, last

    def gru(
        self, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *, layer: Recurrent
    ) -> tuple[TensorType, TensorType]:
        return _recurrent("gru", 3, x, (w, r, b), layer)

    def softmax_cross_entropy_loss(
        self,
        scores: TensorType,
        labels: TensorType,
        weights: TensorType | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> TensorType:
        require(
            len(scores.shape) >= 2 and labels.shape == scores.shape[:1] + scores.shape[2:],
            f"softmax_cross_entropy_loss needs scores (N, C, ...) and labels (N, ...), got {scores.shape} and "
            f"{labels.shape}",
        )
        require_integers("softmax_cross_entropy_loss", labels)
        if weights is not None:
            require_shape("softmax_cross_entropy_loss", scores.shape[1:2], weights=weights)
        require(
            reduction in ("none", "sum", "mean"),
            f"softmax_cross_entropy_loss: the reduction must be none, sum or mean, got '{reduction}'",
        )
        return TensorType(labels.shape if reduction == "none" else (), scores.dtype)

    def ctc_loss(self, scores: TensorType, labels: TensorType) -> TensorType:
        require(
            len(scores.shape) == 3
            and len(labels.shape) == 2
            and labels.shape[0] == scores.shape[1]
            and labels.shape[1] <= scores.shape[0],
            f"ctc_loss needs scores (T, N, C) and labels (N, S) with S at most T, got {scores.shape} and "
            f"{labels.shape}",
        )
        require_integers("ctc_loss", labels)
        return TensorType((), scores.dtype)

    def custom(self, *xs: TensorType, name: str) -> TensorType | tuple[TensorType, ...]:
        operator = registered(name)
        declared = operator.types(xs)
        if isinstance(operator.reference, Body):
            result = super().custom(*xs, name=name)
            found = result if isinstance(result, tuple) else (result,)
            require(
                len(found) == operator.outputs and declared in ((), found),
                f"custom operator '{name}' declares {operator.outputs} outputs {declared}, its body has {found}",
            )
            return result  # type: ignore[no-any-return]
        return declared if len(declared) > 1 else declared[0]

    def _reduced(self, operator: str, x: TensorType, axes: tuple[int, ...], keepdims: bool) -> TensorType:
        over = {self._axis(operator, x, axis) for axis in axes} or set(range(len(x.shape)))
        if keepdims:
            return TensorType(tuple(1 if i in over else n for i, n in enumerate(x.shape)), x.dtype)
        return TensorType(tuple(n for i, n in enumerate(x.shape) if i not in over), x.dtype)
