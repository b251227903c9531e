"""Measure this machine's peaks, matrix product and copy; later records say what share of them a run reaches."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from benchmarker.cli.run_options import add_one, names
from benchmarker.cli.terminal import notes
from benchmarker.cli.values import each_once
from benchmarker.errors import plural

if TYPE_CHECKING:
    from benchmarker.machine.peaks import Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    parser.add_argument(
        "--framework",
        default="numpy",
        metavar="NAME[==VERSION]",
        help="framework to measure with; default: numpy",
    )
    parser.add_argument(
        "--precision", type=lambda text: each_once(names(text)), default=("fp32",), metavar="fp32,fp64,..."
    )
    add_one(parser, "device", default="cpu")
    add_one(parser, "threads")
    add_one(parser, "environment", default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object per precision")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def main(arguments: argparse.Namespace) -> int:
    """Measure, keep and print each precision."""
    from benchmarker.orchestration.jobs.calibration import calibrate

    for calibration in calibrate(
        arguments.framework,
        arguments.precision,
        device=arguments.device,
        threads=arguments.threads,
        environment=arguments.env,
        note=notes(quiet=arguments.json or arguments.quiet),
    ):
        text = json.dumps(asdict(calibration)) if arguments.json else "\n".join(_lines(calibration))
        print(text, flush=True)
    return 0


def _lines(found: Calibration) -> list[str]:
    lines = [
        (
            f"{found.device}, {plural(found.threads, 'thread')}, {found.precision}, {found.framework} {found.version}: "
            f"{found.flops_per_second / 1e9:.1f} GFLOP/s (product of {found.size} x {found.size}), "
            f"{found.bytes_per_second / 1e9:.1f} GB/s (copy)"
        )
    ]
    return lines + [f"  {found.grade}, because {reason}" for reason in found.reasons[:1]]
