"""The meaning of each operator in Keras: attributes become a native callable once, tensors come later.

A *binder* takes the place of a node (:class:`~benchmarker.plugins.keras.site.Site`) and its attributes and
returns a callable of tensors or Keras variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.operators import OPERATORS, Operators
from benchmarker.plugins.keras import (
    adding,
    elementwise,
    losses,
    normalization,
    products,
    recurrent,
    shaping,
    windows,
)
from benchmarker.plugins.keras.site import operation, together
from benchmarker.plugins.keras.standing import Native

BINDERS: dict[str, Callable[..., Native]] = {
    "add": adding.add,
    "sub": together("subtract"),
    "mul": together("multiply"),
    "div": together("divide"),
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
    "matmul": products.matmul,
    "gemm": products.gemm,
    "rnn": recurrent.rnn,
    "lstm": recurrent.lstm,
    "gru": recurrent.gru,
    "conv": windows.conv,
    "conv_transpose": windows.conv_transpose,
    "max_pool": windows.max_pool,
    "average_pool": windows.average_pool,
    "global_average_pool": windows.global_average_pool,
    "resize": windows.resize,
    "batch_normalization": normalization.batch_normalization,
    "layer_normalization": normalization.layer_normalization,
    "group_normalization": normalization.group_normalization,
    "rms_normalization": normalization.rms_normalization,
    "reduce_mean": shaping.reduction("mean"),
    "reduce_sum": shaping.reduction("sum"),
    "reduce_max": shaping.reduction("max"),
    "top_k": shaping.top_k,
    "reshape": shaping.reshape,
    "flatten": shaping.flatten,
    "transpose": shaping.transpose,
    "concat": shaping.concat,
    "split": shaping.split,
    "slice": shaping.slice_,
    "pad": shaping.pad,
    "expand": shaping.expand,
    "gather": shaping.gather,
    "gather_elements": shaping.gather_elements,
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
