"""Run the conformance suite over a framework: does it compute what the contract says?"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    parser.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, metavar="N", help="default: physical cores")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="show only what failed")


def _row(result: dict[str, Any]) -> str:
    numbers = ""
    if result.get("error") is not None and result.get("tolerance") is not None:
        numbers = f"  error {result['error']:.1e}, allowed {result['tolerance']:.1e}"
    detail = f"  {result['detail']}" if result.get("detail") and result["status"] != "passed" else ""
    return f"{result['status']:<8} {result['name']}{numbers}{detail}"


def main(arguments: argparse.Namespace) -> int:
    """Run the checks and print each as it comes."""
    from benchmarker.checking import check_framework

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    def show(result: dict[str, Any]) -> None:
        if not arguments.json and (result["status"] == "failed" or not arguments.quiet):
            print(_row(result), flush=True)

    report = check_framework(
        arguments.framework,
        environment=arguments.env,
        device=arguments.device,
        threads=arguments.threads,
        timeout=arguments.timeout,
        note=note,
        show=show,
    )
    if arguments.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        counts = ", ".join(f"{report.count(s)} {s}" for s in ("passed", "failed", "skipped"))
        print(f"{report.framework} {report.version or ''}: {counts}")
        if report.failure:
            print(f"benchmarker: {report.failure}", file=sys.stderr)
            print(report.log_tail, file=sys.stderr)
    return 0 if report.passed else 1
