"""From the graph to straight lines of Paddle's functions over its tensors, traced where asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.graph.attributes import flat
from benchmarker.graph.graph import Graph
from benchmarker.graph.operators import native_operators
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.graph.types import Node
from benchmarker.plugins.common.layouts import Layout, parameter_layouts, permuted
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.plugins.paddle.custom import require_no_bridge
from benchmarker.plugins.paddle.operators import PaddleOperators
from benchmarker.plugins.paddle.products import LAYOUTS

Line = Callable[..., "tuple[Any, ...]"]
Watching = Callable[[str, Callable[..., Any]], Callable[..., Any]]


def native_form(graph: Graph) -> tuple[Graph, dict[str, Layout]]:
    """Return a graph of native operators alone, and the layouts of its parameters.

    Weights of dense layers stand as ``(in, out)``, as those of ``paddle.nn.Linear``, and are not transposed.
    """
    calls = expand_composites(graph, native_operators(PaddleOperators), PaddleOperators.framework)
    layouts = parameter_layouts(graph, LAYOUTS)
    dense = {
        p.name
        for p in graph.parameters
        if (uses := calls.uses(p.name)) and all(_is_dense_weight(node, place) for node, place in uses)
    }
    layouts.update(dict.fromkeys(dense, permuted((1, 0))))
    nodes = (
        replace(node, attributes={**flat("gemm", node.keywords), "trans_b": False})
        if node.operator == "gemm" and node.inputs[1] in dense
        else node
        for node in calls.nodes
    )
    return replace(calls, nodes=tuple(nodes)), layouts


def _is_dense_weight(node: Node, place: int) -> bool:
    return bool(node.operator == "gemm" and place == 1 and node.keywords["product"].is_dense)


def lower(
    graph: Graph,
    outputs: Sequence[str],
    native: Mapping[str, tuple[Any, ...]],
    operators: PaddleOperators,
    *,
    traced: bool = False,
    observed: Watching | None = None,
) -> Line:
    """Return the function that computes ``outputs`` of native inputs.

    Parameters
    ----------
    graph : Graph
        Of native operators alone.
    outputs : sequence of str
        Names of values.
    native : mapping
        The tensors of each parameter.
    operators : PaddleOperators
        What nodes mean.
    traced : bool
        Whether Paddle traces it in the first call.
    observed : callable, optional
        Replaces what each node calls.
    """
    binding = {node.name: operators.bind(node) for node in graph.nodes}
    if observed is not None:
        binding = {name: observed(name, call) for name, call in binding.items()}
    if traced:
        require_no_bridge(graph)
        return _traced(straight_line(graph, binding, outputs=outputs), native, operators.training)
    constants = {name: tensors[0] if len(tensors) == 1 else tensors for name, tensors in native.items()}
    return straight_line(graph, binding, outputs=outputs, constants=constants)


def _traced(line: Line, native: Mapping[str, tuple[Any, ...]], training: bool) -> Line:
    """Return a layer that has the parameters as its own and is traced in its first call."""
    import paddle

    # What is ours is Python that runs once, while it is traced, and not to be translated.
    paddle.jit.ignore_module([sys.modules[name] for name in sys.modules if name.startswith("benchmarker.")])
    paddle.jit.not_to_static(line)

    class Traced(paddle.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, tensor in _named(native):
                if tensor.stop_gradient:
                    self.register_buffer(name, tensor, persistable=False)
                else:
                    self.add_parameter(name, tensor)

        # It looks for the name self, and takes no variable number of arguments.
        def forward(self, batch: Sequence[Any]) -> Any:
            return _run(self, batch)

    def _run(layer: Traced, batch: Sequence[Any]) -> Any:
        held = iter([getattr(layer, name) for name, _ in _named(native)])
        groups = (tuple(next(held) for _ in tensors) for tensors in native.values())
        return line(*batch, *(group[0] if len(group) == 1 else group for group in groups))

    paddle.jit.not_to_static(_run)
    layer = Traced()
    if not training:
        layer.eval()
    return TracedLine(paddle.jit.to_static(layer, full_graph=True))


class TracedLine:
    """A line that Paddle has traced, or will in its first call."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def __call__(self, *batch: Any) -> tuple[Any, ...]:
        return tuple(self._layer(batch))

    @property
    def compilations(self) -> int:
        """How often Paddle has traced it."""
        return len(self._layer.forward.program_cache)


def _named(native: Mapping[str, tuple[Any, ...]]) -> list[tuple[str, Any]]:
    tensors = [tensor for natives in native.values() for tensor in natives]
    return [(f"tensor_{number}", tensor) for number, tensor in enumerate(tensors)]
