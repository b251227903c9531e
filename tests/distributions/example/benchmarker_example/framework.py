"""A framework that can infer with fully connected layers."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarker.api import Device, Framework, FrameworkPlugin, Gemm, Operators, Program


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="tiny",
        distribution="numpy",
        requirements=("numpy",),
        implementation="benchmarker_example.framework:Tiny",
        modes=("inference",),
    )


class TinyOperators(Operators):
    def gemm(self, a: Any, b: Any, c: Any = None, *, product: Gemm) -> Any:
        y = product.alpha * ((a.T if product.trans_a else a) @ (b.T if product.trans_b else b))
        return y if c is None else y + product.beta * c

    def relu(self, x: Any) -> Any:
        return x * (x > 0)

    def reshape(self, x: Any, *, shape: tuple[int, ...]) -> Any:
        return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


class Tiny(Framework):
    operators = TinyOperators

    def __init__(self) -> None:
        import numpy

        self.numpy = numpy

    def version(self) -> str:
        return str(self.numpy.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        return "cpu"

    def build(self, graph: Any, parameters: Any, **settings: Any) -> Program:
        return TinyProgram(graph, {k: v.copy() for k, v in parameters.items()})


class TinyProgram(Program):
    def __init__(self, graph: Any, parameters: Any) -> None:
        operators = TinyOperators()
        self._outputs = graph.outputs
        self._values = parameters
        self._calls = [
            (partial(getattr(operators, node.operator), **node.keywords), node.inputs, node.outputs[0])
            for node in graph.nodes
        ]

    def load(self, batch: Any) -> Any:
        return dict(batch)

    def infer(self, batch: Any) -> Any:
        values = {**self._values, **batch}
        for call, inputs, output in self._calls:
            values[output] = call(*[values[name] for name in inputs])
        return tuple(values[name] for name in self._outputs)

    def parameters(self) -> Any:
        return {name: value.copy() for name, value in self._values.items()}

    def fetch(self, output: Any) -> Any:
        return output

    def synchronize(self, output: Any) -> None:
        return None
