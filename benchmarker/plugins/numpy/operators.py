"""Forward meaning of every operator on NumPy arrays of any floating type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.operators import Operators
from benchmarker.plugins.numpy.windows import Windows

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_CHUNK = 1 << 23
"""Elements that a convolution unfolds at once, so that its memory does not grow with the mini-batch."""


def chunks(samples: int, elements_per_sample: int) -> Iterator[slice]:
    """Yield slices of the mini-batch of about :data:`_CHUNK` elements, at least one sample each."""
    step = max(1, _CHUNK // max(1, elements_per_sample))
    for start in range(0, samples, step):
        yield slice(start, start + step)


def conv_windows(
    x: Array,
    w: Array,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Windows:
    """Return the windows of a convolution of ``x`` by ``w``."""
    return Windows(x.shape[2:], w.shape[2:], tuple(strides), tuple(dilations), tuple(pads))


def grouped_columns(windows: Windows, x: Array, group: int) -> Array:
    """Return the windows as matrices ``(N, group, C/group * kernel elements, windows)``."""
    columns = windows.columns(x)
    return columns.reshape(x.shape[0], group, -1, columns.shape[-1])


def per_channel(values: Array, rank: int) -> Array:
    """Shape ``values (C,)`` so that they broadcast along the channels of a tensor of that rank."""
    return values.reshape(-1, *(1,) * (rank - 2))


def channel_mean(x: Array) -> Array:
    """Return the mean of each channel of ``x (N, C, ...)``.

    Along the contiguous axis first, where NumPy sums pairwise and so rounds least.
    """
    mean: Array = x.reshape(*x.shape[:2], -1).mean(axis=2).mean(axis=0)
    return mean


def softmax(x: Array, axis: int) -> Array:
    """Return the softmax along ``axis``, shifted by the maximum so that nothing overflows."""
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    result: Array = powers / powers.sum(axis=axis, keepdims=True)
    return result


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` by way of tanh, which never overflows."""
    result: Array = 0.5 * np.tanh(0.5 * x) + 0.5
    return result


def window_counts(windows: Windows, dtype: Any, count_include_pad: bool) -> Array:
    """Return by how many elements the sum of each window of an average pooling is divided."""
    if count_include_pad:
        return np.full((1, 1, *windows.out), math.prod(windows.kernel), dtype)
    ones = np.ones((1, 1, *windows.spatial), dtype)
    return _window_sums(windows, ones)


def _window_sums(windows: Windows, x: Array) -> Array:
    padded = windows.pad(x)
    total = np.zeros((*x.shape[:2], *windows.out), x.dtype)
    for _, seen in windows.offsets():
        total += padded[seen]
    return total


class NumpyOperators(Operators):
    """Every tensor is a NumPy array, and every result has the type of the first argument.

    Parameters
    ----------
    training : bool
        Whether batch normalization uses the mini-batch's statistics.
    generator : numpy.random.Generator, optional
        Source of dropout's masks in training; without one dropout is off.
    update_statistics : bool
        Whether batch normalization in training moves its running statistics, in place.
    """

    def __init__(
        self,
        *,
        training: bool = False,
        generator: np.random.Generator | None = None,
        update_statistics: bool = False,
    ) -> None:
        super().__init__(training=training)
        self.generator = generator
        self.update_statistics = update_statistics

    def conv(
        self,
        x: Array,
        w: Array,
        b: Array | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Array:
        windows = conv_windows(x, w, strides, pads, dilations)
        filters = w.reshape(group, w.shape[0] // group, -1)
        y = np.empty((x.shape[0], group, filters.shape[1], math.prod(windows.out)), x.dtype)
        per_sample = x.shape[1] * math.prod(windows.kernel) * y.shape[-1]
        for part in chunks(x.shape[0], per_sample):
            np.matmul(filters, grouped_columns(windows, x[part], group), out=y[part])
        y = y.reshape(x.shape[0], w.shape[0], *windows.out)
        if b is not None:
            y += per_channel(b, y.ndim)
        return y

    def max_pool(
        self,
        x: Array,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Array:
        windows = Windows.pooling(x.shape[2:], kernel_shape, strides, pads, ceil_mode)
        padded = windows.pad(x, -np.inf)
        y = np.full((*x.shape[:2], *windows.out), -np.inf, x.dtype)
        for _, seen in windows.offsets():
            np.maximum(y, padded[seen], out=y)
        return y

    def average_pool(
        self,
        x: Array,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Array:
        windows = Windows.pooling(x.shape[2:], kernel_shape, strides, pads)
        return _window_sums(windows, x) / window_counts(windows, x.dtype, count_include_pad)

    def global_average_pool(self, x: Array) -> Array:
        mean: Array = x.reshape(*x.shape[:2], -1).mean(axis=2)
        return mean.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))

    def gemm(
        self,
        a: Array,
        b: Array,
        c: Array | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> Array:
        y: Array = (a.T if trans_a else a) @ (b.T if trans_b else b)
        if alpha != 1.0:
            y *= alpha
        if c is not None:
            y += c if beta == 1.0 else beta * c
        return y

    def batch_normalization(
        self,
        x: Array,
        scale: Array,
        b: Array,
        mean: Array,
        var: Array,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Array:
        batch_mean, batch_var = mean, var
        if self.training:
            batch_mean = channel_mean(x)
            batch_var = channel_mean(np.square(x - per_channel(batch_mean, x.ndim)))
        if self.training and self.update_statistics:
            mean[...] = momentum * mean + (1.0 - momentum) * batch_mean
            var[...] = momentum * var + (1.0 - momentum) * batch_var
        y = x - per_channel(batch_mean, x.ndim)
        y *= per_channel(scale / np.sqrt(batch_var + epsilon), x.ndim)
        y += per_channel(b, x.ndim)
        return y

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def sigmoid(self, x: Array) -> Array:
        return sigmoid(x)

    def tanh(self, x: Array) -> Array:
        return np.tanh(x)

    def add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def dropout(self, x: Array, *, ratio: float = 0.5) -> Array:
        mask = self.dropout_mask(x, ratio)
        return x if mask is None else x * mask

    def dropout_mask(self, x: Array, ratio: float) -> Array | None:
        """Return what dropout multiplies ``x`` by, 0 or ``1 / (1 - ratio)``; None where it is off."""
        if not self.training or self.generator is None or ratio == 0.0:
            return None
        kept = self.generator.random(x.shape) >= ratio
        return kept.astype(x.dtype) / (1.0 - ratio)

    def softmax(self, x: Array, *, axis: int = -1) -> Array:
        return softmax(x, axis)

    def reduce_mean(self, x: Array) -> Array:
        return np.asarray(x.mean(), x.dtype)

    def reshape(self, x: Array, *, shape: tuple[int, ...]) -> Array:
        return x.reshape([x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])

    def transpose(self, x: Array, *, perm: tuple[int, ...]) -> Array:
        return x.transpose(perm)

    def lstm(self, x: Array, w: Array, r: Array, b: Array, *, hidden_size: int) -> tuple[Array, Array, Array]:
        _, cells, hidden = lstm_states(x, w, r, b)
        return hidden[1:, None], hidden[-1:], cells[-1:]

    def softmax_cross_entropy_loss(self, scores: Array, labels: Array) -> Array:
        shifted = scores - scores.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1))
        chosen = shifted[np.arange(len(labels)), labels]
        return np.asarray((log_sum - chosen).mean(), scores.dtype)


def lstm_states(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """Run an LSTM layer and keep what its backward pass needs.

    Returns
    -------
    gates : array ``(T, N, 4, H)``
        Activated gates i, o, f, c.
    cells, hidden : array ``(T + 1, N, H)``
        States, the zero initial one first.
    """
    steps, batch, size = x.shape
    h = r.shape[-1]
    bias = b[0, : 4 * h] + b[0, 4 * h :]
    gates = ((x.reshape(-1, size) @ w[0].T) + bias).reshape(steps, batch, 4, h)
    cells = np.zeros((steps + 1, batch, h), x.dtype)
    hidden = np.zeros_like(cells)
    for t in range(steps):
        gate = gates[t]
        gate += (hidden[t] @ r[0].T).reshape(batch, 4, h)
        gate[:, :3] = sigmoid(gate[:, :3])
        gate[:, 3] = np.tanh(gate[:, 3])
        i, o, f, c = (gate[:, k] for k in range(4))
        cells[t + 1] = f * cells[t] + i * c
        hidden[t + 1] = o * np.tanh(cells[t + 1])
    return gates, cells, hidden
