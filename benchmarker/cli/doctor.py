"""Find what will distort measurements on this machine, why, and what to do about it; nothing is changed."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from benchmarker.cli.terminal import print_json, print_text

if TYPE_CHECKING:
    from benchmarker.orchestration.doctor import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``doctor``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--strict", action="store_true", help="exit status 1 if anything warns")


def main(arguments: argparse.Namespace) -> int:
    from benchmarker.orchestration.doctor import examine

    findings = examine()
    warnings = [finding for finding in findings if finding.status == "warn"]
    if arguments.json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        print_text("\n".join(line for finding in findings for line in _lines(finding)))
        count = {0: "nothing", 1: "1 thing"}.get(len(warnings), f"{len(warnings)} things")
        print(f"\n{count} found that can distort measurements here")
    return 1 if arguments.strict and warnings else 0


def _lines(finding: Finding) -> list[str]:
    lines = [f"{finding.status:<8} {finding.name:<24} {finding.found}"]
    if finding.status == "warn":
        lines += [f"{'':9}why: {finding.why}", f"{'':9}do:  {finding.advice}"]
    return lines
