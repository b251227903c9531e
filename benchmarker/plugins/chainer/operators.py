"""The meaning of each operator in Chainer: attributes become a native callable once, tensors come later.

A *binder* takes the place of a node (:class:`Site`) and its attributes and returns a callable of Chainer
variables. The program binds every node when it is built, so that nothing is translated on the timed path.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarker.graph.operators import OPERATORS, STOPS, Operators
from benchmarker.plugins.chainer import convolution, custom, elementwise, losses, pooling, recurrent, shapes
from benchmarker.plugins.chainer.arrays import of_arrays
from benchmarker.plugins.chainer.binding_site import Native, Shape, Site, function, python_operator

BINDERS: dict[str, Callable[..., Native]] = {
    "conv": convolution.conv,
    "conv_transpose": convolution.conv_transpose,
    "max_pool": pooling.max_pool,
    "average_pool": pooling.average_pool,
    "global_average_pool": pooling.global_average_pool,
    "resize": pooling.resize,
    "matmul": function("matmul"),
    "sparse_matmul": function("sparse_matmul"),
    "gemm": elementwise.gemm,
    "causal_mask": elementwise.causal_mask,
    "batch_normalization": elementwise.batch_normalization,
    "layer_normalization": elementwise.layer_normalization,
    "group_normalization": elementwise.group_normalization,
    "relu": function("relu"),
    "sigmoid": function("sigmoid"),
    "tanh": function("tanh"),
    "add": function("add"),
    "mul": python_operator(operator.mul),
    "sub": python_operator(operator.sub),
    "div": python_operator(operator.truediv),
    "minimum": function("minimum"),
    "maximum": function("maximum"),
    "pow": python_operator(operator.pow),
    "affine": elementwise.affine,
    "exp": function("exp"),
    "log": function("log"),
    "log1p": function("log1p"),
    "expm1": function("expm1"),
    "sin": function("sin"),
    "cos": function("cos"),
    "tan": function("tan"),
    "where": function("where"),
    "reciprocal": python_operator(lambda x: 1.0 / x),
    "sqrt": function("sqrt"),
    "abs": function("absolute"),
    "erf": function("erf"),
    "clip": elementwise.clip,
    "leaky_relu": elementwise.leaky_relu,
    "softplus": function("softplus"),
    "cast": elementwise.cast,
    "stop_gradient": elementwise.stop_gradient,
    "dropout": elementwise.dropout,
    "softmax": elementwise.softmax,
    "log_softmax": elementwise.log_softmax,
    "reduce_mean": shapes.reduction("mean"),
    "reduce_sum": shapes.reduction("sum"),
    "reduce_max": shapes.reduce_max,
    "top_k": shapes.top_k,
    "cum_sum": shapes.cum_sum,
    "scatter_nd": shapes.scatter_nd,
    "reshape": shapes.reshape,
    "flatten": shapes.flatten,
    "transpose": shapes.transpose,
    "concat": shapes.concat,
    "split": shapes.split,
    "slice": shapes.slice_,
    "pad": shapes.pad,
    "expand": shapes.expand,
    "gather": shapes.gather,
    "gather_elements": shapes.gather_elements,
    "rnn": recurrent.rnn,
    "lstm": recurrent.lstm,
    "gru": recurrent.gru,
    "softmax_cross_entropy_loss": losses.softmax_cross_entropy_loss,
    "binary_cross_entropy_loss": losses.binary_cross_entropy_loss,
    "mean_squared_error_loss": function("mean_squared_error"),
    "ctc_loss": losses.ctc_loss,
    "custom": custom.custom,
    **{name: of_arrays(name) for name in sorted(STOPS - {"cast", "stop_gradient"})},
}
"""Operator to its binder, ``binder(site, **attributes) -> callable of variables``."""


class ChainerOperators(Operators):
    """Every tensor is a Chainer variable; the methods are generated from :data:`BINDERS`.

    Parameters
    ----------
    training, updating, dtype, device
        See :class:`Site`.
    """

    framework = "chainer"

    def __init__(
        self,
        *,
        training: bool = False,
        updating: bool = True,
        dtype: type[Any] = np.float32,
        device: Any = None,
    ) -> None:
        super().__init__(training=training)
        self._updating = updating
        self._dtype = dtype
        self._device = device

    def bind(
        self,
        operator_name: str,
        attributes: Mapping[str, Any],
        shapes: Sequence[Shape | None],
        needed: Sequence[bool] = (),
        *,
        real: bool = True,
    ) -> Native:
        """Return what runs a native operator on variables of these shapes; ``real`` if it gives real numbers."""
        site = Site(tuple(shapes), self.training, self._updating, tuple(needed), self._dtype, self._device)
        binder = BINDERS[operator_name] if real or operator_name == "cast" else of_arrays(operator_name)
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
