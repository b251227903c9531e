"""Show a problem: its parameters, layers with shapes, and what it costs."""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarker.cli.run import setting, unique_settings
from benchmarker.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("problem")
    parser.add_argument("--batch-size", "--batch_size", type=int, metavar="N")
    parser.add_argument("--mode", choices=("inference", "training"), default="training")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--graph", action="store_true", help="with --json: the whole graph too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _count(value: float, unit: str) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def _shape(shape: list[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _print(description: dict[str, Any]) -> None:
    print(f"{description['name']}: {description['task']}")
    print(f"  {description['source']}")
    print("parameters (--set NAME=VALUE):")
    for name, row in description["parameters"].items():
        print(f"  {name} = {row['value']}  ({row['type']}, default {row['default']})")
    names = max(len(layer["name"]) for layer in description["layers"])
    operators = max(len(layer["operator"]) for layer in description["layers"])
    print("layers:")
    for layer in description["layers"]:
        outputs = ", ".join(_shape(shape) for shape in layer["output_shapes"])
        weights = f"{layer['parameter_count']:,}" if layer["parameter_count"] else ""
        flops = _count(layer["flops"], "FLOP") if layer["flops"] else ""
        row = f"  {layer['name']:<{names}}  {layer['operator']:<{operators}}  {outputs:<20}  {weights:>12}  {flops:>12}"
        print(row.rstrip())
    memory = description["memory_bytes"]
    print(f"batch size           {description['batch_size']} ({description['mode']})")
    print(f"trainable values     {description['parameter_count']:,}")
    print(
        f"forward, a sample    {_count(description['flops_per_sample'], 'FLOP')} in convolutions, matrix and "
        f"recurrent products, {_count(description['elementwise_flops_per_sample'], 'FLOP')} elementwise"
    )
    print(f"a step               {_count(description['flops_per_step'], 'FLOP')}")
    print("memory               " + ", ".join(f"{name} {_count(size, 'B')}" for name, size in memory.items()))


def _values(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the value of each ``--set``; ``problem.name`` is the same as ``name``, as for ``run``."""
    values = {}
    for name, choice in unique_settings(arguments.set).items():
        if len(choice) > 1:
            raise UsageError(f"show takes one value of '{name}', got {', '.join(choice)}")
        values[name.removeprefix(f"{arguments.problem}.")] = choice[0]
    return values


def main(arguments: argparse.Namespace) -> int:
    """Print the problem."""
    from benchmarker.describing import describe_problem

    description = describe_problem(
        arguments.problem,
        _values(arguments),
        batch_size=arguments.batch_size,
        mode=arguments.mode,
        with_graph=arguments.graph,
    )
    if arguments.json:
        print(json.dumps(description, indent=2))
    else:
        _print(description)
    return 0
