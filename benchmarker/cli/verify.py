"""Prove that frameworks compute the same function: outputs, loss, gradients and training, outside of any timing."""

from __future__ import annotations

import argparse
import json
import sys

from benchmarker.cli.run import names, setting, unique_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    parser.add_argument("--problem", type=names, required=True, metavar="NAME,...")
    parser.add_argument("--framework", type=names, required=True, metavar="NAME[==VERSION],...")
    parser.add_argument(
        "--size",
        type=names,
        default=("reduced", "full"),
        metavar="reduced,full",
        help="reduced: against NumPy in float64; full: against each other",
    )
    parser.add_argument(
        "--optimizer",
        type=names,
        default=(),
        metavar="NAME,...",
        help="default: all at reduced size, none at full size, with constants that show their equations; "
        "own: the problem's own",
    )
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="training steps of each optimizer")
    parser.add_argument("--batch-size", "--batch_size", type=int, metavar="N", help="at full size")
    parser.add_argument("--precision", default="fp32", metavar="fp32|fp64|bf16|fp16")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=42, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N", help="default: physical cores")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for each framework and size")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object a problem")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: argparse.Namespace) -> int:
    """Verify each problem and print its table."""
    from benchmarker.report.equivalence import equivalence_table
    from benchmarker.verifying import request_of, verify_problem

    settings = unique_settings(arguments.set)
    request = request_of(
        frameworks=arguments.framework,
        settings=settings,
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

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    passed = True
    for index, name in enumerate(arguments.problem):
        report = verify_problem(name, request, note)
        passed = passed and report.passed
        if arguments.json:
            print(json.dumps(report.to_json()), flush=True)
        else:
            print(("\n" if index else "") + equivalence_table(report), flush=True)
    return 0 if passed else 1
