"""A problem as it would run: parameters, layers with shapes, cost and memory, as values and for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.units import count, size
from benchmarker.api.options import option_types
from benchmarker.api.problem import Problem
from benchmarker.graph.cost import NodeCost, graph_cost

_LABEL_WIDTH = 21


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
        "parameters": _parameter_facts(problem, values),
        "mode": mode,
        "batch_size": graph.batch_size,
        "parameter_count": graph.parameter_count,
        "flops_per_sample": cost.forward_flops // graph.batch_size,
        "elementwise_flops_per_sample": cost.elementwise_flops // graph.batch_size,
        "flops_per_step": cost.flops,
        "bytes_per_step": cost.bytes,
        "memory_bytes": cost.memory(problem.optimizer if training else None),
        "layers": [_layer_facts(node) for node in cost.nodes],
        **({"graph": graph.to_json()} if with_graph else {}),
    }


def _parameter_facts(problem: Problem, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    chosen, defaults = problem.configure(values), problem.configure({})
    kinds = option_types(problem.parameters)
    return {
        key: {"value": value, "default": defaults[key], "type": kinds[key].__name__}
        for key, value in chosen.items()
    }


def _layer_facts(node: NodeCost) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": node.operator,
        "output_shapes": [list(shape) for shape in node.output_shapes],
        "parameter_count": node.parameter_count,
        "flops": node.forward_flops,
        "elementwise_flops": node.elementwise_flops,
    }


def problem_text(description: Mapping[str, Any], *, width: int = 80) -> str:
    """Return what :func:`describe_problem` found.

    Parameters
    ----------
    description : mapping
        What it found.
    width : int
        Characters a line should have at most.
    """
    parts = [
        "\n".join(
            [
                f"{description['name']}: {description['task']}",
                *textwrap.wrap(description["source"], width, initial_indent="  ", subsequent_indent="  "),
            ]
        ),
        _parameters(description["parameters"], width),
        _layers(description["layers"], width),
        "\n".join(_totals(description, width)),
    ]
    return "\n\n".join(filter(None, parts))


def _parameters(parameters: Mapping[str, Mapping[str, Any]], width: int) -> str:
    if not parameters:
        return ""
    rows = parameters.values()
    columns = [
        Column("parameter", tuple(parameters), key=True),
        Column("value", tuple(str(row["value"]) for row in rows), breaks=","),
        Column("type", tuple(str(row["type"]) for row in rows)),
    ]
    if any(row["value"] != row["default"] for row in rows):
        columns.append(Column("default", tuple(str(row["default"]) for row in rows), breaks=","))
    return f"{table(columns, width)}\n(--set NAME=VALUE sets one)"


def _layers(layers: Sequence[Mapping[str, Any]], width: int) -> str:
    columns = [
        Column("layer", tuple(layer["name"] for layer in layers), key=True, breaks="._"),
        Column("operator", tuple(layer["operator"] for layer in layers), breaks="_"),
        Column("output", tuple(", ".join(map(_shape, layer["output_shapes"])) for layer in layers)),
        Column("values", tuple(_number(layer["parameter_count"]) for layer in layers), numeric=True),
        Column("FLOP", tuple(_flops(layer["flops"]) for layer in layers), numeric=True),
    ]
    return table(columns, width)


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


def _flops(value: float) -> str:
    return count(value, "").rstrip() if value else ""


def _totals(description: Mapping[str, Any], width: int) -> list[str]:
    memory = ", ".join(f"{name} {size(number)}" for name, number in description["memory_bytes"].items())
    rows = {
        "batch size": f"{description['batch_size']} ({description['mode']})",
        "trainable values": f"{description['parameter_count']:,}",
        "forward, per sample": (
            f"{count(description['flops_per_sample'], 'FLOP')} in convolutions, matrix and recurrent products, "
            f"{count(description['elementwise_flops_per_sample'], 'FLOP')} elementwise"
        ),
        "a step": count(description["flops_per_step"], "FLOP"),
        "memory": memory,
    }
    return [
        textwrap.fill(
            text,
            width,
            initial_indent=f"{label:<{_LABEL_WIDTH}}",
            subsequent_indent=" " * _LABEL_WIDTH,
        )
        for label, text in rows.items()
    ]
