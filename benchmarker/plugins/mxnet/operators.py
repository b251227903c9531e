"""The operators as MXNet symbols."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType

LOWEST = -3.402823466e38
"""Padding of a maximum: the operator's attribute cannot be minus infinity."""
GATES = (0, 2, 3, 1)
"""The graph's gate (i, o, f, c) at each place of MXNet's order i, f, c, o."""


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape of a symbol whose variables know theirs."""
    shape: tuple[int, ...] = tensor.infer_shape()[1][0]
    return shape


def _halves(pads: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(pads) // 2
    return pads[:rank], pads[rank:]


class MxnetOperators(Operators):
    """Every tensor is a symbol; a scalar has shape ``(1,)``, as these symbols know no other.

    Parameters
    ----------
    training : bool
        As in :class:`~benchmarker.graph.operators.Operators`. The executor's own flag decides how batch
        normalization and dropout behave.
    dropout : bool
        Whether dropout does anything at all.
    half : bool
        Whether tensors are float16; the loss is then computed in float32.
    """

    def __init__(self, *, training: bool = False, dropout: bool = True, half: bool = False) -> None:
        super().__init__(training=training)
        import mxnet

        self._mx: Any = mxnet.sym
        self._dropout = dropout
        self._half = half

    # --- convolution and pooling -------------------------------------------------------------

    def _pad(self, x: Tensor, pads: tuple[int, ...], value: float) -> Tensor:
        """Pad the spatial axes; the native operator knows 4 and 5 axes only."""
        begins, ends = _halves(pads)
        width = [size for pair in zip(begins, ends) for size in pair]
        line = len(begins) == 1
        x = self._mx.expand_dims(x, axis=2) if line else x
        leading = (0,) * (6 if line else 4)
        x = self._mx.pad(x, mode="constant", constant_value=value, pad_width=(*leading, *width))
        return self._mx.squeeze(x, axis=2) if line else x

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
        filters, _, *kernel = shape_of(w)
        begins, ends = _halves(pads)
        if begins != ends:
            x, begins = self._pad(x, pads, 0.0), (0,) * len(begins)
        return self._mx.Convolution(
            *(x, w) if b is None else (x, w, b),
            kernel=tuple(kernel),
            stride=strides,
            dilate=dilations,
            pad=begins,
            num_filter=filters,
            num_group=group,
            no_bias=b is None,
        )

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        begins, ends = _halves(pads)
        covered = self._covering(x, kernel_shape, strides, pads, ceil_mode)
        if begins != ends or covered != ends or any(p >= k for p, k in zip(begins, kernel_shape)):
            x, begins = self._pad(x, (*begins, *covered), LOWEST), (0,) * len(begins)
        return self._pool(x, "max", kernel_shape, strides, begins)

    def _covering(
        self,
        x: Tensor,
        kernel: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool,
    ) -> tuple[int, ...]:
        """Return the pads at the ends with which windows rounded down are those of ``ceil_mode``."""
        begins, ends = _halves(pads)
        if not ceil_mode:
            return ends
        shape = shape_of(x)
        windows = Shapes().max_pool(
            TensorType(shape), kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=True
        )
        axes = zip(shape[2:], windows.shape[2:], kernel, strides, begins, ends)
        return tuple(max(e, (o - 1) * s + k - i - b) for i, o, k, s, b, e in axes)

    def _pool(
        self,
        x: Tensor,
        kind: str,
        kernel: tuple[int, ...],
        strides: tuple[int, ...],
        pad: tuple[int, ...],
        **attributes: Any,
    ) -> Tensor:
        return self._mx.Pooling(
            x,
            pool_type=kind,
            kernel=kernel,
            stride=strides,
            pad=pad,
            pooling_convention="valid",
            **attributes,
        )

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        begins, ends = _halves(pads)
        if begins == ends and all(p < k for p, k in zip(begins, kernel_shape)):
            return self._pool(x, "avg", kernel_shape, strides, begins, count_include_pad=count_include_pad)
        nothing = (0,) * len(begins)
        mean = self._pool(self._pad(x, pads, 0.0), "avg", kernel_shape, strides, nothing)
        if count_include_pad:
            return mean
        ones = self._pad(self._mx.ones((1, 1, *shape_of(x)[2:])), pads, 0.0)
        share = self._pool(ones, "avg", kernel_shape, strides, nothing)
        return self._mx.broadcast_div(mean, self._like_tensors(share))

    def _like_tensors(self, x: Tensor) -> Tensor:
        return self._mx.cast(x, dtype="float16") if self._half else x

    def global_average_pool(self, x: Tensor) -> Tensor:
        rank = len(shape_of(x)) - 2
        return self._mx.Pooling(x, global_pool=True, pool_type="avg", kernel=(1,) * rank)

    # --- linear algebra ----------------------------------------------------------------------

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
        units = shape_of(b)[0 if trans_b else 1]
        bias = c is None or (shape_of(c) == (units,) and beta == 1.0)
        if trans_b and not trans_a and alpha == 1.0 and bias:
            tensors = (a, b) if c is None else (a, b, c)
            return self._mx.FullyConnected(*tensors, num_hidden=units, no_bias=c is None)
        product = self._mx.dot(a, b, transpose_a=trans_a, transpose_b=trans_b)
        product = product if alpha == 1.0 else product * alpha
        if c is None or beta == 0.0:
            return product
        return self._mx.broadcast_add(product, c if beta == 1.0 else c * beta)

    # --- normalization and elementwise -------------------------------------------------------

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
        return self._mx.BatchNorm(
            x, scale, b, mean, var, eps=epsilon, momentum=momentum, fix_gamma=False, use_global_stats=False
        )

    def relu(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="relu")

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="sigmoid")

    def tanh(self, x: Tensor) -> Tensor:
        return self._mx.Activation(x, act_type="tanh")

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        same = shape_of(a) == shape_of(b)
        return self._mx.elemwise_add(a, b) if same else self._mx.broadcast_add(a, b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        same = shape_of(a) == shape_of(b)
        return self._mx.elemwise_mul(a, b) if same else self._mx.broadcast_mul(a, b)

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        return self._mx.Dropout(x, p=ratio) if self._dropout and ratio else x

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._mx.softmax(x, axis=axis)

    def reduce_mean(self, x: Tensor) -> Tensor:
        return self._mx.mean(x)

    # --- shapes ------------------------------------------------------------------------------

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        # Sizes are worked out here: the native operator has further codes, and no empty shape.
        sizes = Shapes().reshape(TensorType(shape_of(x)), shape=shape).shape
        return self._mx.reshape(x, shape=sizes or (1,))

    def flatten(self, x: Tensor) -> Tensor:
        return self._mx.Flatten(x)

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._mx.transpose(x, axes=perm)

    # --- recurrent ---------------------------------------------------------------------------

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, hidden_size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Weights that are one symbol are MXNet's flat vector already (see parameters.py).
        flat = w if w is r and r is b else self._flat_weights(w, r, b)
        start = self._like_tensors(self._mx.zeros((1, shape_of(x)[1], hidden_size)))
        y, y_h, y_c = self._mx.RNN(
            x, flat, start, start, mode="lstm", state_size=hidden_size, num_layers=1, state_outputs=True
        )
        return self._mx.expand_dims(y, axis=1), y_h, y_c

    def _flat_weights(self, w: Tensor, r: Tensor, b: Tensor) -> Tensor:
        blocks = [(w, 4, (0,)), (r, 4, (0,)), (b, 8, (0, 4))]
        parts = []
        for tensor, count, starts in blocks:
            split = self._mx.split(tensor, num_outputs=count, axis=1)
            parts += [split[start + gate] for start in starts for gate in GATES]
        return self._mx.concat(*(self._mx.reshape(part, shape=(-1,)) for part in parts), dim=0)

    # --- losses ------------------------------------------------------------------------------

    def softmax_cross_entropy_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        samples = shape_of(scores)[0]
        scores = self._mx.cast(scores, dtype="float32") if self._half else scores
        return self._mx.softmax_cross_entropy(scores, labels) * (1.0 / samples)
