"""What the documentation keeps of what the package itself says: counts of the problems, ``docs/onnx.md``.

``python -m benchmarker.analysis.documentation`` writes both anew, or the one that is named: the counts of the problems
take seconds, the ONNX project's node tests on every framework minutes. The rest of the reference is made when the site
is built (``docs/hooks/``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarker import registry
from benchmarker.analysis.text.markdown import markdown_row
from benchmarker.analysis.text.onnx_nodes import node_test_page
from benchmarker.analysis.text.plugins import MODE_MARKS
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment.catalogue import (
    CATALOGUE,
    compute_facts,
    kept,
    problem_facts,
    support,
)
from benchmarker.experiment.descriptions import DESCRIPTIONS, descriptions_text
from benchmarker.orchestration.jobs.conformance import CheckReport, check_framework
from benchmarker.orchestration.jobs.unpack_onnx import node_tests
from benchmarker.orchestration.references import REFERENCE
from benchmarker.worker.conformance.onnx_cases import INDEX

DOCS = Path(__file__).resolve().parents[2] / "docs"
"""Of a checkout; an installed package has none."""

NOT_RUN: Mapping[str, str] = {
    "cudnn": "libraries of a few operators, on a GPU only (libraries.md)",
    "cupy": "on a GPU only",
    "iree": "not measured, because each test is compiled",
    "onednn": "a library of a few operators (libraries.md)",
    "openblas": "a library of a few operators (libraries.md)",
    "tinygrad": "not measured, because each test is compiled",
}
"""Frameworks whose node tests the page leaves out, and why."""


def write_problems() -> None:
    """Write the counts of the built-in problems, from which the site has its page."""
    rows = [asdict(compute_facts(name)) for name in registry.names("problems", ours=True)]
    CATALOGUE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    kept.cache_clear()


def write_onnx() -> None:
    """Run the ONNX project's node tests over every framework, and write the page about them."""
    reports, absent = check_all()
    tests = len(json.loads((node_tests() / INDEX).read_text(encoding="utf-8")))
    (DOCS / "onnx.md").write_text(node_test_page(reports, absent, tests), encoding="utf-8")


def write_descriptions() -> None:
    """Write what built-in plug-ins say of themselves, which ``list`` and ``run --help`` show without importing them."""
    DESCRIPTIONS.write_text(descriptions_text(), encoding="utf-8")


PAGES: Mapping[str, Callable[[], None]] = {
    "problems": write_problems,
    "descriptions": write_descriptions,
    "onnx": write_onnx,
}


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def check_all() -> tuple[list[CheckReport], dict[str, str]]:
    """Return a report of each framework, the reference's first, and why others did not come to their end."""
    known = registry.names("frameworks", ours=True)
    reports, absent = [], dict(NOT_RUN)
    for name in sorted(set(known) - set(NOT_RUN), key=lambda name: (name != REFERENCE, name)):
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


def problems_page() -> str:
    """Return the page of the built-in problems, in Markdown."""
    plugins = [registry.framework(name) for name in registry.names("frameworks", ours=True)]
    entries = [registry.find("problems", name) for name in registry.names("problems", ours=True)]
    titles = ["problem", "task", "parameters", "FLOPs per sample", *(plugin.name for plugin in plugins)]
    lines = [
        "# Problems",
        "",
        "`benchmarker list problems --matrix` shows the same. Parameters are trainable values. FLOPs are those of the",
        "forward pass in convolutions, matrix and recurrent products, counting multiply and add as two, at the",
        "default parameters. `both` means inference and training.",
        "",
        markdown_row(titles),
        markdown_row(["---", "---", "--:", "--:", *("---" for _ in plugins)]),
    ]
    reasons = []
    for entry in entries:
        facts, cells = problem_facts(entry), support(entry.name, plugins)
        numbers = [f"{facts.parameters:,}", f"{facts.flops_per_sample:,}"]
        lines.append(
            markdown_row([f"`{facts.name}`", facts.task, *numbers, *(MODE_MARKS[c.modes] for c in cells)])
        )
        reasons += [f"- `{c.problem}` on {c.framework}: {c.reason}" for c in cells if c.reason]
    lines += ["", "## Sources", ""]
    lines += [f"- `{entry.name}`: {registry.problem(entry.name).source}" for entry in entries]
    if reasons:
        lines += ["", "## What cannot run, and why", "", *reasons]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the pages that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description="Regenerate the generated pages of the documentation.")
    parser.add_argument("pages", nargs="*", help=f"of {', '.join(PAGES)}; all of them if none is named")
    chosen = parser.parse_args().pages or list(PAGES)
    unknown = [page for page in chosen if page not in PAGES]
    if unknown:
        parser.error(f"a page must be one of {', '.join(PAGES)}, got '{unknown[0]}'")
    for page in chosen:
        PAGES[page]()


if __name__ == "__main__":
    main()
