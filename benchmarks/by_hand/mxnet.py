"""DeepBench's operators as a user of MXNet calls them: a symbol bound to arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mxnet as mx
import numpy as np
from by_hand.case import GATES, Case, Step


def step(case: Case) -> Step:
    """Return one step of a case."""
    arrays, symbol = {"gemm": gemm, "conv": conv, "rnn": rnn}[case.kind](case)
    native = {name: mx.nd.array(array) for name, array in arrays.items()}
    if not case.backward:
        executor = symbol.bind(mx.cpu(), native, grad_req="null")

        def infer() -> Any:
            y = executor.forward(is_train=False)[0]
            mx.nd.waitall()
            return y

        return infer
    found = {name: mx.nd.zeros_like(array) for name, array in native.items()}
    wanted = {name: "null" if name == "start" else "write" for name in native}
    trainer = symbol.bind(mx.cpu(), native, args_grad=found, grad_req=wanted)
    upstream = mx.nd.array(case.upstream)

    def backward() -> Any:
        y = trainer.forward(is_train=True)[0]
        trainer.backward(upstream)
        mx.nd.waitall()
        return y, [gradient for name, gradient in found.items() if wanted[name] == "write"]

    return backward


def gemm(case: Case) -> tuple[Mapping[str, Any], Any]:
    """Return the operands and the product, as a fully connected layer: quicker than ``dot``."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    first, second = case.transposed
    product = mx.sym.FullyConnected(
        mx.sym.transpose(a) if first else a,
        b if second else mx.sym.transpose(b),
        num_hidden=case.sizes["n"],
        no_bias=True,
        flatten=False,
    )
    return {name: case.values[name] for name in ("a", "b")}, product


def conv(case: Case) -> tuple[Mapping[str, Any], Any]:
    """Return the operands and the convolution."""
    w = case.values["conv.weight"]
    y = mx.sym.Convolution(
        mx.sym.var("x"),
        mx.sym.var("w"),
        kernel=w.shape[2:],
        stride=case.strides,
        pad=case.pads,
        num_filter=w.shape[0],
        no_bias=True,
    )
    return {"x": case.values["image"], "w": w}, y


def rnn(case: Case) -> tuple[Mapping[str, Any], Any]:
    """Return input, packed weights and first state, and the layer."""
    kind, hidden, x = case.sizes["type"], case.sizes["hidden"], case.values["sequence"]
    w, r, b = case.weights
    packed = [_gates(part, kind).ravel() for part in (w[0], r[0], *np.split(b[0], 2))]
    start = mx.sym.var("start")
    y = mx.sym.RNN(
        mx.sym.var("x"),
        mx.sym.var("weights"),
        *(start, start) if kind == "lstm" else (start,),
        mode={"vanilla": "rnn_relu"}.get(kind, kind),
        state_size=hidden,
        num_layers=1,
    )
    arrays = {"x": x, "weights": np.concatenate(packed), "start": np.zeros((1, x.shape[1], hidden))}
    return arrays, mx.sym.expand_dims(y, axis=1)


def _gates(array: Any, kind: str) -> Any:
    parts = np.split(array, len(GATES[kind]))
    return np.concatenate([parts[place] for place in GATES[kind]])


def output(y: Any) -> Any:
    """Return an output as an array in the graph's layout."""
    return y.asnumpy()


def gradients(found: Any) -> list[Any]:
    """Return gradients as arrays in any layout."""
    return [gradient.asnumpy() for gradient in found]
