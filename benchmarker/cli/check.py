"""Run the conformance suite on a framework: does it compute what the contract says?"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from benchmarker.cli.run_options import add_one, add_settings, unique_settings
from benchmarker.cli.terminal import notes, output_width, print_json, print_text, tell
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.orchestration.jobs.conformance import CheckReport, GradientRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    parser.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    add_one(parser, "environment", default="auto")
    add_one(parser, "device", default="cpu")
    add_one(parser, "threads")
    add_one(parser, "timeout", help="seconds after which the suite is ended")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--onnx", action="store_true", help="run the ONNX project's node tests instead of the suite"
    )
    parser.add_argument(
        "--gradients",
        action="store_true",
        help="instead compare every operator's gradients with differences in float64",
    )
    parser.add_argument(
        "--only",
        metavar="NAME,...",
        type=lambda text: tuple(text.split(",")),
        default=(),
        help="run only the suite's checks with these names; * stands for anything: --only='forward/*'",
    )
    parser.add_argument(
        "--problem", metavar="NAME", help="with --gradients: check those of a problem, at reduced size"
    )
    add_settings(parser, "an option of the framework or, with --problem, a parameter of the problem")
    parser.add_argument("--quiet", action="store_true", help="show only what failed")


def _row(result: dict[str, Any]) -> str:
    numbers = ""
    if result.get("error") is not None and result.get("tolerance") is not None:
        numbers = f"  error {result['error']:.1e}, allowed {result['tolerance']:.1e}"
    with_detail = result["status"] != "passed" or "in the reference" in result.get("detail", "")
    detail = f"  {result['detail']}" if result.get("detail") and with_detail else ""
    return f"{result['status']:<8} {result['name']}{numbers}{detail}"


def _gradients(arguments: argparse.Namespace) -> GradientRequest | None:
    from benchmarker.orchestration.jobs.conformance import GradientRequest

    if not arguments.gradients:
        if arguments.problem:
            raise UsageError("--problem says whose gradients to check; give --gradients too")
        return None
    if arguments.onnx:
        raise UsageError("--onnx and --gradients are two checks; give one of them")
    return GradientRequest(arguments.problem)


def _only(arguments: argparse.Namespace) -> tuple[str, ...]:
    if arguments.only and (arguments.onnx or arguments.gradients):
        raise UsageError("--only chooses checks of the suite; give it without --onnx and --gradients")
    return tuple(arguments.only)


def main(arguments: argparse.Namespace) -> int:
    """Run the checks and print each as it comes."""
    from benchmarker.orchestration.jobs.conformance import check_framework

    def show(result: dict[str, Any]) -> None:
        show_passed = not arguments.quiet and not arguments.onnx  # the node tests end in a table
        if not arguments.json and (
            result["status"] == "failed" or (show_passed and result["status"] == "passed")
        ):
            print_text(_row(result), flush=True)

    report = check_framework(
        arguments.framework,
        environment=arguments.env,
        device=arguments.device,
        threads=arguments.threads,
        timeout=arguments.timeout,
        onnx=arguments.onnx,
        gradients=_gradients(arguments),
        only=_only(arguments),
        settings=unique_settings(arguments.set),
        note=notes(quiet=arguments.json or arguments.quiet),
        show=show,
    )
    if arguments.json:
        print_json(report.to_json())
    else:
        _print(report, onnx=arguments.onnx, quiet=arguments.quiet)
    return 0 if report.passed else 1


def _print(report: CheckReport, *, onnx: bool, quiet: bool) -> None:
    """Print what there is to say at the end."""
    from benchmarker.analysis.text.conformance import skipped_lines
    from benchmarker.analysis.text.equivalence import with_changed_options
    from benchmarker.analysis.text.onnx_nodes import STATUSES, node_test_table

    statuses: tuple[str, ...] = ("passed", "failed", "skipped")
    if onnx:
        statuses = STATUSES
        print_text(node_test_table(report.results, output_width()))
    elif not quiet:
        for line in skipped_lines(report.results, output_width()):
            print_text(line)
    counts = ", ".join(f"{report.count(status)} {status}" for status in statuses)
    print(f"{with_changed_options(report.framework, report.options, report.version)}: {counts}")
    if report.failure:
        tell(report.failure)
        print(report.log_tail, file=sys.stderr)
