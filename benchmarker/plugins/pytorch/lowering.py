"""From the graph to a generated straight-line function of native calls, with ``torch.fx``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.operators import Operators
from benchmarker.plugins.pytorch.folding import fold
from benchmarker.plugins.pytorch.in_place import write_in_place
from benchmarker.plugins.pytorch.integers import IntegerOperators, integer_products, round_in_kernels
from benchmarker.plugins.pytorch.operators import PytorchOperators
from benchmarker.plugins.pytorch.profiler import with_ranges
from benchmarker.plugins.pytorch.tensors import Tensors
from benchmarker.plugins.pytorch.tracing import with_shape


def lower(
    graph: Graph,
    results: Sequence[str],
    pieces: Mapping[str, int],
    *,
    training: bool,
    dropout: bool = True,
    dtype: Any = None,
    mixed: bool = False,
    ranges: bool = False,
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
    training, dropout, dtype
        As in :class:`~benchmarker.plugins.pytorch.tracing.TracedOperators`.
    mixed : bool
        Whether it will run under autocast.
    ranges : bool
        Whether a profiler is to see which node each call is of.

    Returns
    -------
    callable
        Its arguments are the native tensors of all parameters, then those of all inputs, both in the
        graph's order; it returns the result, or a tuple of them if there are several.
    """
    operators = PytorchOperators(training=training, dropout=dropout, dtype=dtype)
    traced = _traced(graph, results, pieces, operators)
    return _generated(graph, traced, mixed=mixed, ranges=ranges)


def lower_integers(
    graph: Graph, results: Sequence[str], tensors: Tensors, *, ranges: bool
) -> tuple[Callable[..., Any], list[Any], int]:
    """Generate it for a quantized graph, with products in integers and weights that are quantized once.

    Returns
    -------
    callable, list, int
        The function, what it takes in place of the parameters, and how many products are in integers.
    """
    pieces = {name: len(natives) for name, natives in tensors.native.items()}
    traced = _traced(graph, results, pieces, IntegerOperators(dtype=tensors.dtype))
    round_in_kernels(traced)
    known = fold(traced, tensors.all)
    return _generated(graph, traced, mixed=False, ranges=ranges), known, integer_products(traced)


def _traced(
    graph: Graph, results: Sequence[str], pieces: Mapping[str, int], operators: PytorchOperators
) -> Any:
    """Return the graph in PyTorch's calls, as a ``torch.fx.Graph``."""
    import torch

    traced = torch.fx.Graph()
    values = _arguments(graph, pieces, traced)
    _trace(graph, operators, values, traced)
    returned = tuple(values[name].node for name in results)
    traced.output(returned[0] if len(returned) == 1 else returned)
    traced.eliminate_dead_code()
    return traced


def _generated(graph: Graph, traced: Any, *, mixed: bool, ranges: bool) -> Callable[..., Any]:
    """Return the function of a traced graph."""
    import torch

    write_in_place(traced, mixed=mixed)
    if ranges:
        with_ranges(traced)
    traced.lint()
    forward: Callable[..., Any] = torch.fx.GraphModule(torch.nn.Module(), traced, graph.name).forward
    return forward


def _arguments(graph: Graph, pieces: Mapping[str, int], traced: Any) -> dict[str, Any]:
    """Add the arguments to the traced graph; return the value of each parameter and input, with its shape."""
    import torch

    tracer = torch.fx.proxy.GraphAppendingTracer(traced)

    def argument(name: str) -> Any:
        target = f"v{len(traced.nodes)}_{re.sub(r'[^0-9A-Za-z_]', '_', name)}"
        return torch.fx.Proxy(traced.placeholder(target), tracer)

    values: dict[str, Any] = {}
    for parameter in graph.parameters:
        natives = tuple(argument(parameter.name) for _ in range(pieces[parameter.name]))
        values[parameter.name] = natives[0] if len(natives) == 1 else natives
    for input_ in graph.inputs:
        values[input_.name] = argument(input_.name)
    return {name: with_shape(value, graph.types[name]) for name, value in values.items()}


def _trace(graph: Graph, operators: Operators, values: dict[str, Any], traced: Any) -> None:
    """Add the traced value of every node to ``values``, each with its shape; what it became knows its name."""
    for node in graph.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        outputs = apply_node(node, operators, inputs)
        for call in itertools.takewhile(lambda call: "node" not in call.meta, reversed(traced.nodes)):
            call.meta["node"] = node.name if call.op.startswith("call") else None
        for name, value in zip(node.outputs, outputs):
            values[name] = with_shape(value, graph.types[name])
