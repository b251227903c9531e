"""Show a problem: its parameters, layers with shapes, and what it costs."""

from __future__ import annotations

import argparse
import json

from benchmarker.cli.run_options import setting, unique_settings
from benchmarker.cli.terminal import output_width
from benchmarker.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("problem")
    parser.add_argument("--batch-size", "--batch_size", type=int, metavar="N")
    parser.add_argument(
        "--mode", choices=("inference", "training"), help="default: training, without a loss inference"
    )
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--graph", action="store_true", help="with --json: the whole graph too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


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
    from benchmarker.report.problem import problem_text

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
        print(problem_text(description, width=output_width()))
    return 0
