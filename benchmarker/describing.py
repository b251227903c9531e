"""A problem as it would run: parameters, layers with shapes, cost and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker import registry
from benchmarker.graph.cost import NodeCost, graph_cost
from benchmarker.options import option_types
from benchmarker.problem import Problem


def describe_problem(
    name: str,
    values: Mapping[str, Any],
    *,
    batch_size: int | None = None,
    mode: str | None = None,
    with_graph: bool = False,
) -> dict[str, Any]:
    """Return what ``show`` shows, as JSON values.

    Parameters
    ----------
    name : str
        The problem.
    values : mapping
        Parameters that are not at their defaults.
    batch_size : int, optional
        The problem's default if not given.
    mode : {"inference", "training"}, optional
        What a step is; if not given, training where there is a loss.
    with_graph : bool
        Whether to add the whole graph.

    Raises
    ------
    UsageError
        On an unknown problem or parameter, or an impossible size.
    """
    problem = registry.problem(name)
    graph = problem.graph(batch_size, **values)
    mode = mode or ("inference" if graph.loss is None else "training")
    training = mode == "training"
    cost = graph_cost(graph if training else graph.without_loss(), training=training)
    return {
        "name": problem.name,
        "task": problem.task,
        "source": problem.source,
        "parameters": _parameters(problem, values),
        "mode": mode,
        "batch_size": graph.batch_size,
        "parameter_count": graph.parameter_count,
        "flops_per_sample": cost.forward_flops // graph.batch_size,
        "elementwise_flops_per_sample": cost.elementwise_flops // graph.batch_size,
        "flops_per_step": cost.flops,
        "bytes_per_step": cost.bytes,
        "memory_bytes": cost.memory(problem.optimizer if training else None),
        "layers": [_layer(node) for node in cost.nodes],
        **({"graph": graph.to_json()} if with_graph else {}),
    }


def _parameters(problem: Problem, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    chosen, defaults = problem.configure(values), problem.configure({})
    kinds = option_types(problem.parameters)
    return {
        key: {"value": value, "default": defaults[key], "type": kinds[key].__name__}
        for key, value in chosen.items()
    }


def _layer(node: NodeCost) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": node.operator,
        "output_shapes": [list(shape) for shape in node.output_shapes],
        "parameter_count": node.parameter_count,
        "flops": node.forward_flops,
        "elementwise_flops": node.elementwise_flops,
    }
