"""Users' own operators in Paddle: called as they are, or bridged to with a layer of its autograd's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import NativeFunction, registered
from benchmarker.graph.graph import Graph
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.common.custom.arrays import ArrayKernel, array_kernel
from benchmarker.plugins.paddle.binding import PaddleFunctions


class CustomOperators(PaddleFunctions):
    """One operator for all that users bring."""

    framework = "paddle"

    def custom(self, *xs: Tensor, name: str) -> Any:
        operator = registered(name)
        implementation = operator.implementation(self.framework)
        if implementation is None:
            return super().custom(*xs, name=name)
        if isinstance(implementation, NativeFunction):
            return implementation.make()(*xs)
        kernel = array_kernel(operator, self.framework)
        assert kernel is not None
        return _bridged(kernel, xs)


def require_no_bridge(graph: Graph) -> None:
    """Refuse operators that run on arrays, which a traced program has none of.

    Raises
    ------
    UnsupportedError
        With the operator's name.
    """
    for node in graph.nodes:
        if node.operator != "custom":
            continue
        operator = registered(node.keywords["name"])
        if not isinstance(operator.implementation(CustomOperators.framework), NativeFunction):
            raise UnsupportedError(
                f"custom operator '{operator.name}' runs on arrays, which a program that Paddle traces has none of; "
                "use to_static=false"
            )


def _bridged(kernel: ArrayKernel, xs: Sequence[Any]) -> Any:
    import paddle

    class Bridge(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            outputs = tuple(map(paddle.to_tensor, kernel.forward(_arrays(inputs))))
            ctx.save_for_backward(*inputs, *outputs)
            return outputs if len(outputs) > 1 else outputs[0]

        @staticmethod
        def backward(ctx: Any, *upstream: Any) -> Any:
            saved = ctx.saved_tensor()
            inputs, outputs = _arrays(saved[: len(xs)]), _arrays(saved[len(xs) :])
            needed = [not x.stop_gradient for x in xs]
            found = kernel.backward(inputs, outputs, _arrays(upstream), needed)
            gradients = [
                paddle.to_tensor(np.ascontiguousarray(g)) if wanted else None
                for g, wanted in zip(found, needed)
            ]
            return tuple(gradients) if len(gradients) > 1 else gradients[0]

    return Bridge.apply(*xs)


def _arrays(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.numpy() for tensor in tensors]
