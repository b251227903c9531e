"""Show a problem: its parameters, layers with shapes, and what it costs."""

from __future__ import annotations

import argparse

from benchmarker.cli.run_options import add_settings, single_settings
from benchmarker.cli.terminal import output_width, print_json
from benchmarker.cli.values import whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("problem", metavar="PROBLEM", help="a name from 'list problems', or a file")
    parser.add_argument("--batch-size", "--batch_size", type=whole(), metavar="N")
    parser.add_argument(
        "--mode",
        choices=("inference", "training"),
        help="default: training, or inference if there is no loss",
    )
    add_settings(parser)
    parser.add_argument("--graph", action="store_true", help="with --json: the whole graph too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.text.problem import describe_problem, problem_text

    own = f"{arguments.problem}."
    description = describe_problem(
        arguments.problem,
        # As for run, problem.name is the same as name.
        {name.removeprefix(own): value for name, value in single_settings(arguments.set, "show").items()},
        batch_size=arguments.batch_size,
        mode=arguments.mode,
        with_graph=arguments.graph,
    )
    if arguments.json:
        print_json(description)
    else:
        print(problem_text(description, width=output_width()))
    return 0
