"""The meaning of each operator in Chainer: attributes become a native callable once, tensors come later.

A *binder* takes the place of a node (:class:`Site`) and its attributes and returns a callable of Chainer
variables. The program binds every node when it is built, so that nothing is translated on the timed path.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarker.graph.operators import OPERATORS, Operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType

Shape = tuple[int, ...]
Native = Callable[..., Any]


@dataclass(frozen=True)
class Site:
    """Where an operator is applied.

    Parameters
    ----------
    shapes : tuple of shape or None
        Of the tensor inputs; None for an absent one.
    training : bool
        Whether batch normalization takes the mini-batch's statistics.
    updating : bool
        Whether running statistics move and dropout drops; off when only gradients are asked for.
    needed : tuple of bool
        Which outputs something uses; empty means all.
    """

    shapes: tuple[Shape | None, ...]
    training: bool = False
    updating: bool = True
    needed: tuple[bool, ...] = ()

    def shape(self, position: int) -> Shape:
        """Return the shape of an input that must be there."""
        shape = self.shapes[position]
        assert shape is not None
        return shape


# --- convolution and pooling ---------------------------------------------------------------------


def _halves(pads: Sequence[int]) -> tuple[Shape, Shape]:
    rank = len(pads) // 2
    return tuple(pads[:rank]), tuple(pads[rank:])


def _padding(begins: Shape, ends: Shape, value: float) -> Native:
    """Return the callable that pads (or, where an end is negative, crops) the spatial axes."""
    from chainer import functions

    widths = ((0, 0), (0, 0), *((b, max(e, 0)) for b, e in zip(begins, ends)))
    crop = (..., *(slice(None, e if e < 0 else None) for e in ends))
    cropped = min(ends) < 0

    def pad(x: Any) -> Any:
        x = functions.pad(x, widths, "constant", constant_values=value)
        return functions.get_item(x, crop) if cropped else x

    return pad


def _conv(site: Site, *, strides: Shape, pads: Shape, dilations: Shape, group: int = 1) -> Native:
    from chainer import functions

    begins, ends = _halves(pads)
    convolve = functions.convolution_2d if len(strides) == 2 else functions.convolution_nd
    settings = {"stride": strides, "dilate": dilations, "groups": group}
    if begins == ends:
        return functools.partial(convolve, pad=begins, **settings)
    pad = _padding(begins, ends, 0.0)

    def padded_convolution(x: Any, w: Any, b: Any = None) -> Any:
        return convolve(pad(x), w, b, **settings)

    return padded_convolution


def _windows(size: int, kernel: int, stride: int, pad: int, cover_all: bool) -> int:
    """Return Chainer's number of windows over an axis padded by ``pad`` at both ends."""
    return (size + 2 * pad - kernel + (stride - 1 if cover_all else 0)) // stride + 1


def _max_pool(
    site: Site, *, kernel_shape: Shape, strides: Shape, pads: Shape, ceil_mode: bool = False
) -> Native:
    from chainer import functions

    x = site.shape(0)
    begins, ends = _halves(pads)
    out = (
        Shapes()
        .max_pool(TensorType(x), kernel_shape=kernel_shape, strides=strides, pads=pads, ceil_mode=ceil_mode)
        .shape[2:]
    )
    native = tuple(
        map(functools.partial(_windows, cover_all=ceil_mode), x[2:], kernel_shape, strides, begins)
    )
    pool = functools.partial(functions.max_pooling_nd, ksize=kernel_shape, stride=strides)
    if begins == ends and native == out:
        return functools.partial(pool, pad=begins, cover_all=ceil_mode)
    # ONNX drops a last window that starts in the end padding, Chainer keeps it: pad to what ONNX covers.
    covered = [(o - 1) * s + k for o, s, k in zip(out, strides, kernel_shape)]
    ends = tuple(c - size - b for c, size, b in zip(covered, x[2:], begins))
    pad = _padding(begins, ends, -math.inf)
    return lambda x: pool(pad(x), pad=0, cover_all=False)


def _average_pool(
    site: Site, *, kernel_shape: Shape, strides: Shape, pads: Shape, count_include_pad: bool = False
) -> Native:
    from chainer import functions

    begins, ends = _halves(pads)
    pool = functools.partial(functions.average_pooling_nd, ksize=kernel_shape, stride=strides)
    if begins == ends:
        return functools.partial(pool, pad=begins, pad_value=0 if count_include_pad else None)
    pad = _padding(begins, ends, 0.0)
    if count_include_pad:
        return lambda x: pool(pad(x))
    ones = np.ones((1, 1, *site.shape(0)[2:]), dtype=np.float32)
    factor = 1 / pool(pad(ones)).array

    def average(x: Any) -> Any:
        y = pool(pad(x))
        return y * y.xp.asarray(factor, dtype=y.dtype)

    return average


def _global_average_pool(site: Site) -> Native:
    from chainer import functions

    axes = tuple(range(2, len(site.shape(0))))
    return functools.partial(functions.mean, axis=axes, keepdims=True)


# --- linear algebra ------------------------------------------------------------------------------


def _gemm(
    site: Site, *, alpha: float = 1.0, beta: float = 1.0, trans_a: bool = False, trans_b: bool = False
) -> Native:
    from chainer import functions

    bias = site.shapes[2] if len(site.shapes) > 2 else None
    rows = site.shape(1)[0]
    if trans_b and not trans_a and alpha == 1.0 and (bias is None or (bias == (rows,) and beta == 1.0)):
        linear: Native = functions.linear
        return linear

    def product(a: Any, b: Any, c: Any = None) -> Any:
        y = functions.matmul(a, b, trans_a, trans_b)
        y = y if alpha == 1.0 else alpha * y
        if c is None:
            return y
        return y + (c if beta == 1.0 else beta * c)

    return product


# --- normalization and elementwise ---------------------------------------------------------------


def _batch_normalization(site: Site, *, epsilon: float = 1e-5, momentum: float = 0.9) -> Native:
    from chainer import functions

    if not site.training:
        return functools.partial(functions.fixed_batch_normalization, eps=epsilon)
    if not site.updating:
        return lambda x, scale, b, mean, var: functions.batch_normalization(x, scale, b, eps=epsilon)

    def normalize(x: Any, scale: Any, b: Any, mean: Any, var: Any) -> Any:
        return functions.batch_normalization(
            x, scale, b, eps=epsilon, running_mean=mean, running_var=var, decay=momentum
        )

    return normalize


def _function(name: str) -> Callable[[Site], Native]:
    def bind(site: Site) -> Native:
        from chainer import functions

        function: Native = getattr(functions, name)
        return function

    return bind


def _mul(site: Site) -> Native:
    return operator.mul


def _dropout(site: Site, *, ratio: float = 0.5) -> Native:
    from chainer import as_variable, functions

    if site.training and site.updating and ratio > 0.0:
        return functools.partial(functions.dropout, ratio=ratio)
    identity: Native = as_variable
    return identity


def _softmax(site: Site, *, axis: int = -1) -> Native:
    from chainer import functions

    return functools.partial(functions.softmax, axis=axis % len(site.shape(0)))


# --- shapes --------------------------------------------------------------------------------------


def _reshape(site: Site, *, shape: Shape) -> Native:
    from chainer import functions

    target = Shapes().reshape(TensorType(site.shape(0)), shape=shape).shape
    return functools.partial(functions.reshape, shape=target)


def _flatten(site: Site) -> Native:
    return _reshape(site, shape=(0, -1))


def _transpose(site: Site, *, perm: Shape) -> Native:
    from chainer import functions

    return functools.partial(functions.transpose, axes=perm)


# --- recurrent -----------------------------------------------------------------------------------


def _lstm(site: Site, *, hidden_size: int) -> Native:
    """One product for all time steps' inputs, then one recurrent product and one ``lstm`` a step.

    The weights come with the gates interleaved by unit, the bias as the pair of its two vectors.
    """
    from chainer import functions

    steps, batch, features = site.shape(0)
    whole = not site.needed or site.needed[0]

    def run(x: Any, w: Any, r: Any, biases: Any) -> tuple[Any, Any, Any]:
        flat = functions.reshape(x, (steps * batch, features))
        projected = functions.linear(flat, w, biases[0] + biases[1])
        c = projected.xp.zeros((batch, hidden_size), dtype=projected.dtype)
        h = None
        history = []
        for z in functions.split_axis(projected, steps, axis=0):
            c, h = functions.lstm(c, z if h is None else z + functions.linear(h, r))
            if whole:
                history.append(h)
        y = functions.expand_dims(functions.stack(history), axis=1) if whole else None
        return y, functions.expand_dims(h, axis=0), functions.expand_dims(c, axis=0)

    return run


BINDERS: dict[str, Callable[..., Native]] = {
    "conv": _conv,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "global_average_pool": _global_average_pool,
    "gemm": _gemm,
    "batch_normalization": _batch_normalization,
    "relu": _function("relu"),
    "sigmoid": _function("sigmoid"),
    "tanh": _function("tanh"),
    "add": _function("add"),
    "mul": _mul,
    "dropout": _dropout,
    "softmax": _softmax,
    "reduce_mean": _function("mean"),
    "reshape": _reshape,
    "flatten": _flatten,
    "transpose": _transpose,
    "lstm": _lstm,
    "softmax_cross_entropy_loss": _function("softmax_cross_entropy"),
}
"""Operator to its binder, ``binder(site, **attributes) -> callable of variables``."""


class ChainerOperators(Operators):
    """Every tensor is a Chainer variable; the methods are generated from :data:`BINDERS`.

    Parameters
    ----------
    training, updating : bool
        See :class:`Site`.
    """

    def __init__(self, *, training: bool = False, updating: bool = True) -> None:
        super().__init__(training=training)
        self.updating = updating

    def bind(
        self,
        operator_name: str,
        attributes: dict[str, Any],
        shapes: Sequence[Shape | None],
        needed: Sequence[bool] = (),
    ) -> Native:
        """Return what runs an operator on variables of these shapes; a composite runs its own body."""
        binder = BINDERS.get(operator_name)
        if binder is None:
            return functools.partial(getattr(self, operator_name), **attributes)
        site = Site(tuple(shapes), self.training, self.updating, tuple(needed))
        return binder(site, **attributes)


def _immediate(name: str) -> Callable[..., Any]:
    def call(self: ChainerOperators, *tensors: Any, **attributes: Any) -> Any:
        shapes = [getattr(tensor, "shape", None) for tensor in tensors]
        return self.bind(name, attributes, shapes)(*tensors)

    call.__name__ = name
    call.__doc__ = getattr(Operators, name).__doc__
    return call


for _name in BINDERS:
    assert _name in OPERATORS
    setattr(ChainerOperators, _name, _immediate(_name))
