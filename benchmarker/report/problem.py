"""A problem for the terminal: its parameters, layers and cost."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.report.layout import Column, table
from benchmarker.report.units import count, size

_LABEL_WIDTH = 21


def problem_text(description: Mapping[str, Any], *, width: int = 80) -> str:
    """Return what :func:`benchmarker.describing.describe_problem` found.

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
        "forward, a sample": (
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
