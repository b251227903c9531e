"""Prove that frameworks compute the same function: outputs, loss, gradients and training, outside of any timing."""

from __future__ import annotations

import argparse
import json
import sys

from benchmarker.cli.run_options import names, setting, unique_settings

EXIT_STATUSES = {"failed": 1, "inconclusive": 3, "passed": 0}
"""Exit status by verdict; the first that some problem got."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.epilog = (
        "exit status: 0 passed; 1 something differs or did not end; 2 what was asked makes no sense; "
        "3 inconclusive, because rounding alone moves too much, or no framework can run it"
    )
    parser.add_argument("--problem", type=names, required=True, metavar="NAME,...")
    parser.add_argument("--framework", type=names, required=True, metavar="NAME[==VERSION],...")
    parser.add_argument(
        "--size",
        type=names,
        default=(),
        metavar="reduced,full",
        help="reduced: against NumPy in float64; full: against each other; default: both, of one framework "
        "reduced",
    )
    parser.add_argument(
        "--optimizer",
        type=names,
        default=(),
        metavar="NAME,...",
        help="default: all at reduced size, none at full size, with constants that show their equations; "
        "own: the problem's own",
    )
    parser.add_argument("--steps", type=int, default=3, metavar="N", help="training steps of each optimizer")
    parser.add_argument("--batch-size", "--batch_size", type=int, metavar="N", help="at full size")
    parser.add_argument("--precision", default="fp32", metavar="fp32|fp64|bf16|fp16")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the problem or an option of the framework",
    )
    parser.add_argument("--seed", type=int, default=42, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="default: physical cores")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for each framework and size")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object a problem")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: argparse.Namespace) -> int:
    """Verify each problem, print its table and return the worst verdict's exit status."""
    from benchmarker.report.equivalence import equivalence_table
    from benchmarker.verifying import VerificationRequest, checked, verify_problem

    request = checked(
        VerificationRequest(
            arguments.framework,
            arguments.problem,
            settings=unique_settings(arguments.set),
            batch_size=arguments.batch_size,
            sizes=arguments.size,
            probes=arguments.optimizer,
            steps=arguments.steps,
            precision=arguments.precision,
            seed=arguments.seed,
            threads=arguments.threads,
            timeout=arguments.timeout,
            environment=arguments.env,
        )
    )

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    statuses = set()
    for index, name in enumerate(request.problems):
        report = verify_problem(name, request, note)
        statuses.add(report.status)
        if arguments.json:
            print(json.dumps(report.to_json()), flush=True)
        else:
            print(("\n" if index else "") + equivalence_table(report), flush=True)
    return next(status for verdict, status in EXIT_STATUSES.items() if verdict in statuses)
