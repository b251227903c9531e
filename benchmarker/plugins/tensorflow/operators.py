"""The native meaning of each operator: TensorFlow's NHWC kernels, on tensors that know how their axes stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarker.graph.operators import Operators
from benchmarker.plugins.tensorflow.tensors import (
    RECURRENT_ORDER,
    Order,
    Tensor,
    channels_last,
    filter_order,
    graph_order,
)
from benchmarker.plugins.tensorflow.windows import (
    Pairs,
    ceil_pairs,
    explicit_pairs,
    same_pairs,
    window_counts,
)


class TensorFlowOperators(Operators):
    """Every tensor is a :class:`Tensor`.

    Parameters
    ----------
    tensorflow : module
        TensorFlow itself.
    training : bool
        Whether batch normalization uses the mini-batch's statistics.
    dropout : bool
        Whether dropout drops.

    Attributes
    ----------
    updates : list of (Variable, Tensor)
        New values of the running statistics, to be assigned by the step.
    """

    def __init__(self, tensorflow: Any, *, training: bool = False, dropout: bool = False) -> None:
        super().__init__(training=training)
        self.tf = tensorflow
        self.updates: list[tuple[Any, Any]] = []
        self._dropout = dropout

    # --- axes --------------------------------------------------------------------------------

    def arrange(self, x: Tensor, order: Order) -> Any:
        """Return the value of ``x`` with its axes in ``order``."""
        if x.order == order:
            return x.value
        perm = tuple(x.order.index(axis) for axis in order)
        shape = [int(size) for size in x.value.shape]
        moving = [axis for axis in perm if shape[axis] != 1]
        if moving == sorted(moving):
            return self.tf.reshape(x.value, [shape[axis] for axis in perm])
        return self.tf.transpose(x.value, perm)

    def _plain(self, x: Tensor) -> Any:
        return self.arrange(x, graph_order(len(x.order)))

    def _last(self, x: Tensor) -> Any:
        return self.arrange(x, channels_last(len(x.order)))

    def _weight(self, w: Tensor, order: Order, like: Any) -> Any:
        """Return a weight in the element type of the activation it meets."""
        value = self.arrange(w, order)
        return value if value.dtype == like.dtype else self.tf.cast(value, like.dtype)

    def _pad(self, x: Any, pairs: Pairs, constant: float = 0.0) -> Any:
        if not any(map(any, pairs)):
            return x
        return self.tf.pad(x, [(0, 0), *pairs, (0, 0)], constant_values=constant)

    # --- convolution and pooling -------------------------------------------------------------

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
        rank = len(x.order)
        value = self._last(x)
        kernel = self._weight(w, filter_order(rank), value)
        pairs = explicit_pairs(pads)
        padding = "VALID"
        if any(pads) and pairs == same_pairs(x.shape[2:], w.shape[2:], strides, dilations):
            padding = "SAME"
        else:
            value = self._pad(value, pairs)
        y = self._convolve(value, kernel, strides, padding, dilations, group)
        if b is not None:
            y = self.tf.nn.bias_add(y, self._weight(b, (0,), y))
        return Tensor(y, channels_last(rank))

    def _convolve(
        self,
        x: Any,
        kernel: Any,
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        tf = self.tf
        if len(strides) == 1:
            x, kernel = tf.expand_dims(x, 1), tf.expand_dims(kernel, 0)
            return tf.squeeze(tf.nn.conv2d(x, kernel, (1, *strides), padding, dilations=(1, *dilations)), 1)
        if len(strides) == 2:
            return tf.nn.conv2d(x, kernel, strides, padding, dilations=dilations)
        return self._convolve_volume(x, kernel, strides, padding, dilations, group)

    def _convolve_volume(
        self,
        x: Any,
        kernel: Any,
        strides: tuple[int, ...],
        padding: str,
        dilations: tuple[int, ...],
        group: int,
    ) -> Any:
        """Convolve over three axes; TensorFlow has neither groups nor, with strides, dilations here."""
        tf = self.tf
        if group > 1:
            parts = zip(tf.split(x, group, axis=-1), tf.split(kernel, group, axis=-1))
            return tf.concat(
                [self._convolve_volume(p, k, strides, padding, dilations, 1) for p, k in parts], axis=-1
            )
        if max(dilations) == 1:
            return tf.nn.conv3d(x, kernel, (1, *strides, 1), padding)
        y = tf.nn.convolution(x, kernel, 1, padding, data_format="NDHWC", dilations=dilations)
        return y[:, :: strides[0], :: strides[1], :: strides[2]]

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        value, sizes = self._last(x), x.shape[2:]
        pairs = ceil_pairs(sizes, kernel_shape, strides, pads) if ceil_mode else explicit_pairs(pads)
        padding = "VALID"
        if any(map(any, pairs)) and pairs == self._same_window(sizes, kernel_shape, strides):
            padding = "SAME"
        else:
            value = self._pad(value, pairs, -math.inf)
        y = self._pool("max_pool", value, kernel_shape, strides, padding)
        return Tensor(y, channels_last(len(x.order)))

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        order = channels_last(len(x.order))
        value, sizes, pairs = self._last(x), x.shape[2:], explicit_pairs(pads)
        counted = count_include_pad or not any(pads)
        # TensorFlow's SAME leaves the padding out of the mean.
        if not counted and pairs == self._same_window(sizes, kernel_shape, strides):
            return Tensor(self._pool("avg_pool", value, kernel_shape, strides, "SAME"), order)
        y = self._pool("avg_pool", self._pad(value, pairs), kernel_shape, strides, "VALID")
        if not counted:
            correction = math.prod(kernel_shape) / window_counts(sizes, kernel_shape, strides, pairs)
            y = y * self.tf.constant(correction, y.dtype)
        return Tensor(y, order)

    def _same_window(self, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> Pairs:
        return same_pairs(sizes, kernel, strides, (1,) * len(sizes))

    def _pool(
        self, kind: str, x: Any, kernel: tuple[int, ...], strides: tuple[int, ...], padding: str
    ) -> Any:
        tf = self.tf
        if len(kernel) == 1:
            y = self._pool(kind, tf.expand_dims(x, 1), (1, *kernel), (1, *strides), padding)
            return tf.squeeze(y, 1)
        pool = getattr(tf.nn, f"{kind}{len(kernel)}d")
        return pool(x, kernel, strides, padding)

    def global_average_pool(self, x: Tensor) -> Tensor:
        rank = len(x.order)
        value = self.tf.reduce_mean(self._last(x), tuple(range(1, rank - 1)), keepdims=True)
        return Tensor(value, channels_last(rank))

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
        left = a.value
        right = self._weight(b, b.order, left)
        y = self.tf.matmul(
            left,
            right,
            transpose_a=trans_a != (a.order == (1, 0)),
            transpose_b=trans_b != (b.order == (1, 0)),
        )
        if alpha != 1.0:
            y = y * alpha
        if c is not None:
            shift = self._weight(c, graph_order(len(c.order)), y)
            shift = shift if beta == 1.0 else shift * beta
            whole = c.shape == (int(y.shape[1]),)
            y = self.tf.nn.bias_add(y, shift) if whole else y + shift
        return Tensor(y, (0, 1))

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
        value = self._last(x)
        arguments = (mean.value, var.value, b.value, scale.value, epsilon)
        if self.training or self._fuses(value, scale):
            y = self._fused_batch_norm(value, *arguments, momentum)
        else:
            y = self.tf.nn.batch_normalization(value, *arguments)
        return Tensor(y, channels_last(len(x.order)))

    def _fuses(self, x: Any, scale: Tensor) -> bool:
        """Return whether TensorFlow will run the fused kernel as part of the convolution before it.

        Alone, in inference, it was slower than a product and a sum; these also fold into the
        convolution where the weights are constants.
        """
        return x.op.type == "Conv2D" and isinstance(scale.value, self.tf.Variable)

    def _fused_batch_norm(
        self, x: Any, mean: Any, var: Any, b: Any, scale: Any, epsilon: float, momentum: float
    ) -> Any:
        y, new_mean, new_var, *_ = self.tf.raw_ops.FusedBatchNormV3(
            x=self._as_image(x),
            scale=scale,
            offset=b,
            mean=mean,
            variance=var,
            epsilon=epsilon,
            exponential_avg_factor=1.0 - momentum if self.training else 1.0,
            is_training=self.training,
        )
        if self.training:
            self.updates += [(mean, new_mean), (var, new_var)]
        return y if len(x.shape) == 4 else self.tf.reshape(y, x.shape)

    def _as_image(self, x: Any) -> Any:
        """Return ``x`` with four axes, which is what the fused kernel takes."""
        batch, *spatial, channels = x.shape
        if len(spatial) == 2:
            return x
        return self.tf.reshape(x, (batch, math.prod(spatial[:-1]), math.prod(spatial[-1:]), channels))

    def relu(self, x: Tensor) -> Tensor:
        return Tensor(self.tf.nn.relu(x.value), x.order)

    def sigmoid(self, x: Tensor) -> Tensor:
        return Tensor(self.tf.sigmoid(x.value), x.order)

    def tanh(self, x: Tensor) -> Tensor:
        value = x.value
        if not self.training and value.op.type == "FusedBatchNormV3":
            # TensorFlow 2.21 fuses convolution, normalization and tanh without a kernel for it.
            value = self.tf.ensure_shape(value, value.shape)
        return Tensor(self.tf.tanh(value), x.order)

    def silu(self, x: Tensor) -> Tensor:
        return Tensor(self.tf.nn.silu(x.value), x.order)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        left, right, order = self._aligned(a, b)
        return Tensor(left + right, order)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        left, right, order = self._aligned(a, b)
        return Tensor(left * right, order)

    def _aligned(self, a: Tensor, b: Tensor) -> tuple[Any, Any, Order]:
        """Return the values of ``a`` and ``b`` so that they broadcast as in the graph, and their order."""
        rank = max(len(a.order), len(b.order))
        a, b = self._raised(a, rank), self._raised(b, rank)
        order = a.order if math.prod(a.shape) >= math.prod(b.shape) else b.order
        left, right = self.arrange(a, order), self.arrange(b, order)
        if left.dtype != right.dtype:
            left, right = (self.tf.cast(value, self.tf.float32) for value in (left, right))
        return left, right, order

    def _raised(self, x: Tensor, rank: int) -> Tensor:
        """Return ``x`` with as many leading axes of size 1 as broadcasting adds."""
        missing = rank - len(x.order)
        if missing == 0:
            return x
        value = self.tf.reshape(self._plain(x), (*(1,) * missing, *x.shape))
        return Tensor(value, graph_order(rank))

    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        if not (self.training and self._dropout) or ratio == 0.0:
            return x
        return Tensor(self.tf.nn.dropout(x.value, ratio), x.order)

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        native = x.order.index(axis % len(x.order))
        return Tensor(self.tf.nn.softmax(x.value, axis=native), x.order)

    def reduce_mean(self, x: Tensor) -> Tensor:
        return Tensor(self.tf.reduce_mean(self.tf.cast(x.value, self.tf.float32)), ())

    # --- shapes ------------------------------------------------------------------------------

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        return Tensor(self.tf.reshape(self._plain(x), sizes), graph_order(len(sizes)))

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        # Nothing moves: whoever needs another order arranges it.
        return Tensor(x.value, tuple(perm.index(axis) for axis in x.order))

    # --- recurrent ---------------------------------------------------------------------------

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, hidden_size: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Loop over the steps, each with one product for its inputs and one for the state.

        This was as fast as or faster than the Keras layer, the unrolled loop and one product for all
        inputs, forward and backward; ``BlockLSTMV2`` has a wrong gradient.
        """
        tf = self.tf
        steps, batch, _ = x.shape
        value = self._plain(x)
        kernel, recurrent = (tf.squeeze(self._weight(m, RECURRENT_ORDER, value), 0) for m in (w, r))
        bias = tf.add(*tf.split(tf.squeeze(self._weight(b, (0, 1), value), 0), 2))
        inputs = tf.TensorArray(value.dtype, steps).unstack(value)
        outputs = tf.TensorArray(value.dtype, steps, element_shape=(batch, hidden_size))

        def step(t: Any, h: Any, c: Any, outputs: Any) -> tuple[Any, Any, Any, Any]:
            gates = tf.matmul(inputs.read(t), kernel) + tf.matmul(h, recurrent)
            h, c = self._lstm_cell(tf.nn.bias_add(gates, bias), c)
            return t + 1, h, c, outputs.write(t, h)

        start = tf.zeros((batch, hidden_size), value.dtype)
        _, h, c, outputs = tf.while_loop(
            lambda t, *_: t < steps,
            step,
            (tf.constant(0), start, start, outputs),
            maximum_iterations=steps,
        )
        y = Tensor(tf.expand_dims(outputs.stack(), 1), (0, 1, 2, 3))
        last_h, last_c = (Tensor(tf.expand_dims(state, 0), (0, 1, 2)) for state in (h, c))
        return y, last_h, last_c

    def _lstm_cell(self, gates: Any, c: Any) -> tuple[Any, Any]:
        """Return hidden and cell state; gates stand in ONNX's order i, o, f, c."""
        tf = self.tf
        i, o, f, g = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    # --- losses ------------------------------------------------------------------------------

    def softmax_cross_entropy_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        tf = self.tf
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels.value, tf.cast(self._plain(scores), tf.float32)
        )
        return Tensor(tf.reduce_mean(each), ())
