"""From the graph to a generated straight-line function of native calls, with ``torch.fx``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarker.graph.graph import Graph, walk
from benchmarker.plugins.pytorch.operators import PytorchOperators


def lower(
    graph: Graph,
    results: Sequence[str],
    pieces: Mapping[str, int],
    *,
    training: bool,
    dropout: bool = True,
) -> Callable[..., Any]:
    """Generate the function that computes ``results``.

    Parameters
    ----------
    graph : Graph
        What to compute; nodes that no result needs are left out.
    results : sequence of str
        Names of values.
    pieces : mapping
        Number of native tensors that each parameter is made of.
    training, dropout : bool
        As in :class:`PytorchOperators`.

    Returns
    -------
    callable
        Its arguments are the native tensors of all parameters, then those of all inputs, both in the
        graph's order; it returns the result, or a tuple of them if there are several.
    """
    import torch

    traced = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(traced)

    def argument(name: str) -> Any:
        target = f"v{len(traced.nodes)}_{re.sub(r'[^0-9A-Za-z_]', '_', name)}"
        return torch.fx.Proxy(traced.placeholder(target), tracer)

    values: dict[str, Any] = {}
    for parameter in graph.parameters:
        natives = tuple(argument(parameter.name) for _ in range(pieces[parameter.name]))
        values[parameter.name] = natives[0] if len(natives) == 1 else natives
    values.update({input_.name: argument(input_.name) for input_ in graph.inputs})
    values = walk(graph, PytorchOperators(training=training, dropout=dropout), values)
    returned = tuple(values[name].node for name in results)
    traced.output(returned[0] if len(returned) == 1 else returned)
    traced.eliminate_dead_code()
    write_in_place(traced, {values[name].node: graph.types[name].shape for name in _single(graph, values)})
    traced.lint()
    forward: Callable[..., Any] = torch.fx.GraphModule(torch.nn.Module(), traced, graph.name).forward
    return forward


def _single(graph: Graph, values: Mapping[str, Any]) -> list[str]:
    """Return the names of values that are one native tensor each."""
    return [name for name in graph.types if name in values and not isinstance(values[name], tuple)]


def write_in_place(traced: Any, shapes: Mapping[Any, tuple[int, ...]]) -> None:
    """Let ReLU and addition overwrite their operand where nothing else can see it.

    That is so when the operand has no other reader and comes fresh from an operator whose backward
    pass does not read its own result. Authors of PyTorch models do the same by hand
    (``ReLU(inplace=True)``, ``out += identity``); it saves memory traffic.

    Parameters
    ----------
    traced : torch.fx.Graph
        Changed in place.
    shapes : mapping
        Shapes of its nodes as far as known.
    """
    import torch

    fresh = {
        torch.conv1d,
        torch.conv2d,
        torch.conv3d,
        torch.batch_norm,
        torch.nn.functional.linear,
        torch.addmm,
        torch.mm,
        torch.add,
        "add_",
    }

    def writable(node: Any) -> bool:
        return isinstance(node, torch.fx.Node) and node.target in fresh and len(node.users) == 1

    for node in traced.nodes:
        if node.target is torch.relu and writable(node.args[0]):
            node.target = torch.relu_
        elif node.target is torch.add:
            _add_in_place(node, writable, shapes)


def _add_in_place(node: Any, writable: Callable[[Any], bool], shapes: Mapping[Any, tuple[int, ...]]) -> None:
    left, right = node.args
    if left is right or shapes.get(node) is None:
        return
    for target, other in ((left, right), (right, left)):
        # An operand that is broadcast is too small to hold the sum.
        if writable(target) and shapes.get(target) == shapes[node]:
            node.op, node.target, node.args = "call_method", "add_", (target, other)
            return
