"""Run the ONNX project's node tests over every framework, and write the page of a checkout's documentation."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarker import registry
from benchmarker.catalogue.names import names
from benchmarker.checking import CheckReport, check_framework
from benchmarker.errors import BenchmarkerError
from benchmarker.onnx_files import node_tests
from benchmarker.onnx_model.node_cases import INDEX
from benchmarker.report.node_tests import node_test_page

REFERENCE = "numpy"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "onnx.md"


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def check_all() -> tuple[list[CheckReport], dict[str, str]]:
    """Return a report of each framework, the reference's first, and why others did not come to their end."""
    known = names("frameworks", registry.OWN_DISTRIBUTION)
    reports, absent = [], {}
    for name in sorted(known, key=lambda name: (name != REFERENCE, name)):
        _note(f"{name}: running the node tests")
        try:
            report = check_framework(name, onnx=True, note=_note)
        except BenchmarkerError as error:
            absent[name] = str(error)
            continue
        if report.failure is None:
            reports.append(report)
            _note(f"{name}: {report.count('passed')} passed, {report.count('failed')} failed")
        else:
            absent[name] = report.failure
    return reports, absent


def write() -> None:
    """Write the page anew."""
    reports, absent = check_all()
    tests = len(json.loads((node_tests() / INDEX).read_text(encoding="utf-8")))
    PAGE.write_text(node_test_page(reports, absent, tests), encoding="utf-8")


if __name__ == "__main__":
    write()
