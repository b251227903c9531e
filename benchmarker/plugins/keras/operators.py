"""The meaning of each operator in Keras: attributes become a native callable once, tensors come later.

A *binder* takes the place of a node (:class:`~benchmarker.plugins.keras.binding_site.Site`) and its attributes and
returns a callable of tensors or Keras variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.operators import OPERATORS, Operators
from benchmarker.plugins.keras import (
    convolution,
    elementwise,
    losses,
    matrices,
    normalization,
    pooling,
    recurrent,
    shapes,
)
from benchmarker.plugins.keras.binding_site import operation, together
from benchmarker.plugins.keras.layouts import Native

BINDERS: dict[str, Callable[..., Native]] = {
    "add": elementwise.add,
    "sub": together("subtract"),
    "mul": together("multiply"),
    "div": together("divide"),
    "minimum": together("minimum"),
    "maximum": together("maximum"),
    "pow": together("power"),
    "affine": elementwise.affine,
    "relu": operation("relu"),
    "leaky_relu": elementwise.leaky_relu,
    "clip": elementwise.clip,
    "sigmoid": operation("sigmoid"),
    "tanh": operation("tanh"),
    "softplus": operation("softplus"),
    "erf": operation("erf"),
    "exp": operation("exp"),
    "log": operation("log"),
    "log1p": operation("log1p"),
    "expm1": operation("expm1"),
    "sin": operation("sin"),
    "cos": operation("cos"),
    "tan": operation("tan"),
    "sign": operation("sign"),
    "floor": operation("floor"),
    "ceil": operation("ceil"),
    "round": operation("round"),
    "integer_div": elementwise.integer_div,
    "mod": together("mod"),
    "equal": together("equal"),
    "less": together("less"),
    "less_or_equal": together("less_equal"),
    "logical_and": together("logical_and"),
    "logical_or": together("logical_or"),
    "logical_xor": together("logical_xor"),
    "logical_not": operation("logical_not"),
    "is_nan": operation("isnan"),
    "is_inf": operation("isinf"),
    "where": elementwise.where,
    "reciprocal": operation("reciprocal"),
    "sqrt": operation("sqrt"),
    "abs": operation("absolute"),
    "silu": operation("silu"),
    "gelu": elementwise.gelu,
    "cast": elementwise.cast,
    "stop_gradient": operation("stop_gradient"),
    "softmax": elementwise.softmax,
    "log_softmax": elementwise.log_softmax,
    "causal_mask": elementwise.causal_mask,
    "dropout": elementwise.dropout,
    "matmul": matrices.matmul,
    "gemm": matrices.gemm,
    "rnn": recurrent.rnn,
    "lstm": recurrent.lstm,
    "gru": recurrent.gru,
    "conv": convolution.conv,
    "conv_transpose": convolution.conv_transpose,
    "max_pool": pooling.max_pool,
    "average_pool": pooling.average_pool,
    "global_average_pool": pooling.global_average_pool,
    "resize": pooling.resize,
    "batch_normalization": normalization.batch_normalization,
    "layer_normalization": normalization.layer_normalization,
    "group_normalization": normalization.group_normalization,
    "rms_normalization": normalization.rms_normalization,
    "reduce_mean": shapes.reduction("mean"),
    "reduce_sum": shapes.reduction("sum"),
    "reduce_max": shapes.reduction("max"),
    "top_k": shapes.top_k,
    "top_k_indices": shapes.top_k_indices,
    "arg_max": shapes.arg_max,
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
    "softmax_cross_entropy_loss": losses.softmax_cross_entropy_loss,
    "binary_cross_entropy_loss": losses.binary_cross_entropy_loss,
    "mean_squared_error_loss": losses.mean_squared_error_loss,
    "ctc_loss": losses.ctc_loss,
}
"""Operator to its binder, ``binder(site, **attributes) -> callable``."""


class KerasOperators(Operators):
    """Says which operators there are; a graph is bound by :class:`~benchmarker.plugins.keras.binding.Binding`."""


def _bound_elsewhere(name: str) -> Callable[..., Any]:
    def call(self: KerasOperators, *tensors: Any, **attributes: Any) -> Any:
        raise NotImplementedError(f"operator '{name}' is bound to its place in a graph before it is called")

    call.__name__ = name
    call.__doc__ = getattr(Operators, name).__doc__
    return call


for _name in BINDERS:
    assert _name in OPERATORS
    setattr(KerasOperators, _name, _bound_elsewhere(_name))
