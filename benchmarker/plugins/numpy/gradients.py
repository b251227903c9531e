"""Reverse mode: for each operator, from the gradients of its outputs to those of its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.operators import (
    channel_mean,
    chunks,
    conv_windows,
    grouped_columns,
    lstm_states,
    per_channel,
    softmax,
    window_counts,
)
from benchmarker.plugins.numpy.windows import Windows

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Call:
    """One application of an operator, with the gradients of its outputs.

    Parameters
    ----------
    inputs, outputs : tuple of array
        As the operator took and gave them; an absent optional input is None.
    gradients : tuple of array
        Gradient of the loss for each output.
    attributes : mapping
        The operator's keyword arguments.
    needed : tuple of bool
        Which inputs' gradients are asked for; the others may be left out (None).
    switched : float
        Where a rectifier or a maximum is within this share of its largest input of switching, the
        gradient takes the other side. 0 for the gradient proper.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Array, ...]
    gradients: tuple[Array, ...]
    attributes: Mapping[str, Any]
    needed: tuple[bool, ...]
    switched: float = 0.0

    @property
    def band(self) -> float:
        """How near to switching an input switches, absolute."""
        return self.switched * float(np.max(np.abs(self.inputs[0]))) if self.switched else 0.0


InputGradients = Sequence[Any]
"""One array or None for each input."""


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an operand of ``shape`` was broadcast."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    repeated = tuple(axis for axis, size in enumerate(shape) if size == 1 != gradient.shape[axis])
    return gradient.sum(axis=repeated, keepdims=True) if repeated else gradient


def _channel_sum(x: Array) -> Array:
    total: Array = x.reshape(*x.shape[:2], -1).sum(axis=2).sum(axis=0)
    return total


def conv(call: Call) -> InputGradients:
    """Data gradient: transposed filters, scattered back; weight gradient: windows times ``dy``."""
    x, w = call.inputs[:2]
    attributes = dict(call.attributes)
    group = attributes.pop("group", 1)
    windows = conv_windows(x, w, **attributes)
    filters = w.reshape(group, w.shape[0] // group, -1)
    dy = call.gradients[0].reshape(x.shape[0], group, filters.shape[1], -1)
    dx = np.empty_like(x) if call.needed[0] else None
    dw = np.zeros_like(filters)
    per_sample = x.shape[1] * math.prod(windows.kernel) * dy.shape[-1] + w.size
    for part in chunks(x.shape[0], per_sample):
        if call.needed[1]:
            columns = grouped_columns(windows, x[part], group)
            dw += np.matmul(dy[part], columns.swapaxes(2, 3)).sum(axis=0)
        if dx is not None:
            columns = np.matmul(filters.swapaxes(1, 2), dy[part])
            dx[part] = windows.scatter(columns.reshape(len(columns), x.shape[1], -1, dy.shape[-1]))
    return dx, dw.reshape(w.shape), _channel_sum(call.gradients[0])


def max_pool(call: Call) -> InputGradients:
    """The gradient goes to the first largest element of each window."""
    (x,), (y,), (dy,) = call.inputs, call.outputs, call.gradients
    attributes = call.attributes
    windows = Windows.pooling(
        x.shape[2:],
        attributes["kernel_shape"],
        attributes["strides"],
        attributes["pads"],
        attributes.get("ceil_mode", False),
    )
    padded = windows.pad(x, -np.inf)
    lowest = y - call.band
    dx = np.zeros((*x.shape[:2], *windows.padded), x.dtype)
    waiting = np.ones(y.shape, bool)
    for _, seen in windows.offsets():
        chosen = waiting & (padded[seen] >= lowest)
        dx[seen] += dy * chosen
        waiting &= ~chosen
    return (dx[windows.inner()],)


def average_pool(call: Call) -> InputGradients:
    """Every element of a window gets an equal share."""
    (x,), (dy,) = call.inputs, call.gradients
    attributes = call.attributes
    windows = Windows.pooling(
        x.shape[2:], attributes["kernel_shape"], attributes["strides"], attributes["pads"]
    )
    share = dy / window_counts(windows, x.dtype, attributes.get("count_include_pad", False))
    dx = np.zeros((*x.shape[:2], *windows.padded), x.dtype)
    for _, seen in windows.offsets():
        dx[seen] += share
    return (dx[windows.inner()],)


def global_average_pool(call: Call) -> InputGradients:
    """Every element gets an equal share."""
    (x,), (dy,) = call.inputs, call.gradients
    return (np.broadcast_to(dy / math.prod(x.shape[2:]), x.shape),)


def gemm(call: Call) -> InputGradients:
    """``da' = alpha dy b'^T``, ``db' = alpha a'^T dy``, transposed back where the operand was."""
    a, b = call.inputs[:2]
    attributes = call.attributes
    dy = call.gradients[0]
    scaled = dy if attributes.get("alpha", 1.0) == 1.0 else attributes["alpha"] * dy
    trans_a, trans_b = attributes.get("trans_a", False), attributes.get("trans_b", False)
    da = db = dc = None
    if call.needed[0]:
        b_used = b.T if trans_b else b
        da = b_used @ scaled.T if trans_a else scaled @ b_used.T
    if call.needed[1]:
        a_used = a.T if trans_a else a
        db = scaled.T @ a_used if trans_b else a_used.T @ scaled
    if len(call.inputs) > 2 and call.inputs[2] is not None:
        dc = unbroadcast(attributes.get("beta", 1.0) * dy, call.inputs[2].shape)
    return da, db, dc


def batch_normalization(call: Call) -> InputGradients:
    """Training's meaning: mean and variance depend on ``x`` (Ioffe & Szegedy 2015, section 3)."""
    x, scale = call.inputs[:2]
    dy = call.gradients[0]
    mean = channel_mean(x)
    centred = x - per_channel(mean, x.ndim)
    inverse = 1.0 / np.sqrt(channel_mean(np.square(centred)) + call.attributes.get("epsilon", 1e-5))
    normal = centred
    normal *= per_channel(inverse, x.ndim)
    d_scale = _channel_sum(dy * normal)
    d_shift = _channel_sum(dy)
    per_value = x.shape[1] / x.size
    normal *= per_channel(d_scale * per_value, x.ndim)
    normal += per_channel(d_shift * per_value, x.ndim)
    dx = dy - normal
    dx *= per_channel(scale * inverse, x.ndim)
    return dx, d_scale, d_shift, None, None


def relu(call: Call) -> InputGradients:
    """0 where the output is 0."""
    (x,) = call.inputs
    return (call.gradients[0] * ((x > 0) ^ (np.abs(x) < call.band)),)


def sigmoid(call: Call) -> InputGradients:
    """``y (1 - y)``."""
    y = call.outputs[0]
    return (call.gradients[0] * y * (1.0 - y),)


def tanh(call: Call) -> InputGradients:
    """``1 - y^2``."""
    return (call.gradients[0] * (1.0 - np.square(call.outputs[0])),)


def add(call: Call) -> InputGradients:
    """The same to both operands, summed where they were broadcast."""
    return [unbroadcast(call.gradients[0], operand.shape) for operand in call.inputs]


def mul(call: Call) -> InputGradients:
    """Each operand gets the other's values."""
    a, b = call.inputs
    dy = call.gradients[0]
    return (
        unbroadcast(dy * b, a.shape) if call.needed[0] else None,
        unbroadcast(dy * a, b.shape) if call.needed[1] else None,
    )


def softmax_gradient(call: Call) -> InputGradients:
    """``y (dy - sum(dy y))``."""
    y, dy = call.outputs[0], call.gradients[0]
    axis = call.attributes.get("axis", -1)
    return (y * (dy - (dy * y).sum(axis=axis, keepdims=True)),)


def reduce_mean(call: Call) -> InputGradients:
    """Every element gets an equal share."""
    (x,) = call.inputs
    return (np.full(x.shape, call.gradients[0] / x.size, x.dtype),)


def reshape(call: Call) -> InputGradients:
    """The input's shape again."""
    return (call.gradients[0].reshape(call.inputs[0].shape),)


def transpose(call: Call) -> InputGradients:
    """The inverse permutation."""
    return (call.gradients[0].transpose(np.argsort(call.attributes["perm"])),)


def lstm(call: Call) -> InputGradients:
    """Back through time; the gates are computed again instead of being kept."""
    x, w, r, b = call.inputs
    dy, dh, dc = call.gradients[0][:, 0], call.gradients[1][0], call.gradients[2][0]
    gates, cells, hidden = lstm_states(x, w, r, b)
    d_gates = np.empty_like(gates)
    for t in reversed(range(len(x))):
        i, o, f, c = (gates[t][:, k] for k in range(4))
        squashed = np.tanh(cells[t + 1])
        dh = dh + dy[t]
        dc = dc + dh * o * (1.0 - np.square(squashed))
        d_gates[t, :, 0] = dc * c * i * (1.0 - i)
        d_gates[t, :, 1] = dh * squashed * o * (1.0 - o)
        d_gates[t, :, 2] = dc * cells[t] * f * (1.0 - f)
        d_gates[t, :, 3] = dc * i * (1.0 - np.square(c))
        dh = d_gates[t].reshape(len(dh), -1) @ r[0]
        dc = dc * f
    flat = d_gates.reshape(-1, w.shape[1])
    d_bias = flat.sum(axis=0)
    return (
        (flat @ w[0]).reshape(x.shape),
        (flat.T @ x.reshape(-1, x.shape[2]))[None],
        (flat.T @ hidden[:-1].reshape(-1, r.shape[2]))[None],
        np.concatenate([d_bias, d_bias])[None],
    )


def softmax_cross_entropy_loss(call: Call) -> InputGradients:
    """``(softmax(scores) - one_hot(labels)) / N``."""
    scores, labels = call.inputs
    ds = softmax(scores, 1)
    ds[np.arange(len(labels)), labels] -= 1.0
    ds *= call.gradients[0] / len(labels)
    return ds, None


GRADIENTS: Mapping[str, Callable[[Call], InputGradients]] = {
    "conv": conv,
    "max_pool": max_pool,
    "average_pool": average_pool,
    "global_average_pool": global_average_pool,
    "gemm": gemm,
    "batch_normalization": batch_normalization,
    "relu": relu,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "add": add,
    "mul": mul,
    "softmax": softmax_gradient,
    "reduce_mean": reduce_mean,
    "reshape": reshape,
    "transpose": transpose,
    "lstm": lstm,
    "softmax_cross_entropy_loss": softmax_cross_entropy_loss,
}
"""Every primitive but dropout, which the tape turns into a product with its mask."""
