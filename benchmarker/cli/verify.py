"""Prove that frameworks compute the same function: outputs, loss, gradients and training; nothing is timed."""

from __future__ import annotations

import argparse
import json

from benchmarker.cli.run_options import add_one, add_settings, names, unique_settings
from benchmarker.cli.terminal import notes, print_text

EXIT_STATUSES = {"failed": 1, "inconclusive": 3, "passed": 0}
"""Exit status by verdict; the first that some problem got."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.epilog = (
        "exit status: 0 passed; 1 something differs or did not finish; 2 the request is not valid; "
        "3 inconclusive, because rounding alone moves too much, or no framework can run it"
    )
    parser.add_argument(
        "--problem", type=names, required=True, metavar="NAME,...", help="a name from 'list problems'"
    )
    parser.add_argument(
        "--framework",
        type=names,
        required=True,
        metavar="NAME[==VERSION],...",
        help="a name from 'list frameworks'",
    )
    parser.add_argument(
        "--size",
        type=names,
        default=(),
        metavar="reduced,full",
        help="reduced: against NumPy in float64; full: against each other; default: both, or reduced for a single "
        "framework",
    )
    parser.add_argument(
        "--optimizer",
        type=names,
        default=(),
        metavar="NAME,...",
        help="optimizers to verify, with constants that show their equations, or own, the problem's own; "
        "default: all at reduced size, none at full size",
    )
    add_one(parser, "steps", default=3, help="training steps of each optimizer")
    add_one(parser, "batch_size", help="samples in a mini-batch at full size")
    add_one(parser, "device", default="cpu")
    add_one(parser, "precision", default="fp32")
    add_settings(parser, "a parameter of the problem or an option of the framework")
    add_one(parser, "seed", default=42)
    add_one(parser, "threads")
    add_one(parser, "timeout", help="seconds after which each framework and size is ended")
    add_one(parser, "environment", default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object per problem")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def main(arguments: argparse.Namespace) -> int:
    """Verify each problem, print its table and return the worst verdict's exit status."""
    from benchmarker.analysis.text.equivalence import equivalence_table
    from benchmarker.orchestration.jobs.equivalence import verify_problem
    from benchmarker.orchestration.jobs.equivalence_request import VerificationRequest, checked

    request = checked(
        VerificationRequest(
            arguments.framework,
            arguments.problem,
            settings=unique_settings(arguments.set),
            batch_size=arguments.batch_size,
            sizes=arguments.size,
            probes=arguments.optimizer,
            steps=arguments.steps,
            device=arguments.device,
            precision=arguments.precision,
            seed=arguments.seed,
            threads=arguments.threads,
            timeout=arguments.timeout,
            environment=arguments.env,
        )
    )

    note = notes(quiet=arguments.json or arguments.quiet)
    statuses = set()
    for index, name in enumerate(request.problems):
        report = verify_problem(name, request, note)
        statuses.add(report.status)
        if arguments.json:
            print(json.dumps(report.to_json()), flush=True)
        else:
            print_text(("\n" if index else "") + equivalence_table(report), flush=True)
    return next(status for verdict, status in EXIT_STATUSES.items() if verdict in statuses)
