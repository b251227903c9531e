"""Users' own operators in Chainer: called as they are, or bridged to with a function node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.graph.custom import NativeFunction, registered
from benchmarker.plugins.chainer.binding_site import Native, Site
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel


def custom(site: Site, *, name: str) -> Native:
    """One operator for all that users bring; those that have only a body were expanded before."""
    operator = registered(name)
    implementation = operator.implementation("chainer")
    if isinstance(implementation, NativeFunction):
        return implementation.make()
    kernel = array_kernel(operator, "chainer")
    assert kernel is not None
    return _bridge(kernel)


def _bridge(kernel: ArrayKernel) -> Native:
    import chainer

    class Bridge(chainer.FunctionNode):  # type: ignore[misc]
        def forward_cpu(self, inputs: Sequence[Any]) -> Any:
            outputs = kernel.forward(inputs)
            self.retain_inputs(tuple(range(len(inputs))))
            self.retain_outputs(tuple(range(len(outputs))))
            return outputs

        def backward(self, indexes: Sequence[int], upstream: Sequence[Any]) -> Any:
            inputs = [x.array for x in self.get_retained_inputs()]
            outputs = [y.array for y in self.get_retained_outputs()]
            needed = [place in indexes for place in range(len(inputs))]
            gradients = [np.zeros_like(y) if dy is None else dy.array for y, dy in zip(outputs, upstream)]
            found = kernel.backward(inputs, outputs, gradients, needed)
            return tuple(None if found[i] is None else chainer.as_variable(found[i]) for i in indexes)

    def call(*xs: Any) -> Any:
        outputs = Bridge().apply(xs)
        return outputs if len(outputs) > 1 else outputs[0]

    return call
