"""Run the conformance suite over a framework: does it compute what the contract says?"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarker.cli.run_options import setting, unique_settings
from benchmarker.cli.terminal import output_width
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.checking import GradientRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    parser.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, metavar="N", help="default: physical cores")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--onnx", action="store_true", help="run the ONNX project's node tests instead of the suite"
    )
    parser.add_argument(
        "--gradients",
        action="store_true",
        help="compare the gradients of every operator with differences in float64 instead",
    )
    parser.add_argument("--problem", metavar="NAME", help="with --gradients: those of a problem, reduced")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the problem",
    )
    parser.add_argument("--quiet", action="store_true", help="show only what failed")


def _row(result: dict[str, Any]) -> str:
    numbers = ""
    if result.get("error") is not None and result.get("tolerance") is not None:
        numbers = f"  error {result['error']:.1e}, allowed {result['tolerance']:.1e}"
    detail = f"  {result['detail']}" if result.get("detail") and result["status"] != "passed" else ""
    return f"{result['status']:<8} {result['name']}{numbers}{detail}"


def _gradients(arguments: argparse.Namespace) -> GradientRequest | None:
    from benchmarker.checking import GradientRequest

    if not arguments.gradients:
        if arguments.problem or arguments.set:
            raise UsageError("--problem and --set say whose gradients to check; give --gradients too")
        return None
    if arguments.onnx:
        raise UsageError("--onnx and --gradients are two checks; give one of them")
    settings = {name: values[-1] for name, values in unique_settings(arguments.set).items()}
    return GradientRequest(arguments.problem, settings)


def main(arguments: argparse.Namespace) -> int:
    """Run the checks and print each as it comes."""
    from benchmarker.checking import check_framework

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    def show(result: dict[str, Any]) -> None:
        told = not arguments.quiet and not arguments.onnx  # the node tests end in a table
        if not arguments.json and (result["status"] == "failed" or told):
            print(_row(result), flush=True)

    report = check_framework(
        arguments.framework,
        environment=arguments.env,
        device=arguments.device,
        threads=arguments.threads,
        timeout=arguments.timeout,
        onnx=arguments.onnx,
        gradients=_gradients(arguments),
        note=note,
        show=show,
    )
    if arguments.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        statuses: tuple[str, ...] = ("passed", "failed", "skipped")
        if arguments.onnx:
            from benchmarker.report.node_tests import STATUSES, node_test_table

            statuses = STATUSES
            print(node_test_table(report.results, output_width()))
        counts = ", ".join(f"{report.count(status)} {status}" for status in statuses)
        print(f"{report.framework} {report.version or ''}: {counts}")
        if report.failure:
            print(f"benchmarker: {report.failure}", file=sys.stderr)
            print(report.log_tail, file=sys.stderr)
    return 0 if report.passed else 1
