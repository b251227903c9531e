"""Measure the peaks of this machine: matrix product and copy; later records tell which share of them a run reaches."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from benchmarker.cli.run_options import names

if TYPE_CHECKING:
    from benchmarker.calibration import Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    parser.add_argument("--framework", default="numpy", metavar="NAME[==VERSION]", help="what measures")
    parser.add_argument("--precision", type=names, default=("fp32",), metavar="fp32,fp64,...")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, metavar="N", help="default: physical cores")
    parser.add_argument("--env", default="auto", metavar="auto|current|managed|PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object a precision")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def main(arguments: argparse.Namespace) -> int:
    """Measure, keep and print each precision."""
    from benchmarker.calibration import calibrate

    def note(text: str) -> None:
        if not arguments.json and not arguments.quiet:
            print(text, file=sys.stderr, flush=True)

    for calibration in calibrate(
        arguments.framework,
        arguments.precision,
        device=arguments.device,
        threads=arguments.threads,
        environment=arguments.env,
        note=note,
    ):
        text = json.dumps(asdict(calibration)) if arguments.json else "\n".join(_lines(calibration))
        print(text, flush=True)
    return 0


def _lines(found: Calibration) -> list[str]:
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    lines = [
        f"{found.device}, {threads}, {found.precision}, {found.framework} {found.version}: "
        f"{found.flops_per_second / 1e9:.1f} GFLOP/s (product of {found.size} x {found.size}), "
        f"{found.bytes_per_second / 1e9:.1f} GB/s (copy)"
    ]
    return lines + [f"  {found.grade}, because {reason}" for reason in found.reasons[:1]]
