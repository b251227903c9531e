"""The ONNX project's node tests: a table for the terminal, and the page of the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.markdown import markdown_row

if TYPE_CHECKING:
    from benchmarker.orchestration.jobs.conformance import CheckReport

STATUSES = ("passed", "failed", "unsupported", "folded")
_MAX_REASONS = 4
_HEAD = """\
# ONNX models, and the ONNX project's node tests

Written by `python -m benchmarker.analysis.documentation onnx`; `python -m benchmarker check FRAMEWORK --onnx` runs
the same for one framework.

The package `onnx` comes with a test for each operator and each way to use it: a model of one operator (or, with
`_expanded` in the name, of the operators that define it), inputs, and expected outputs. Each test of an
operator that `--problem=onnx:MODEL` supports is imported in the same way and run as a program of the framework, in
float32; outputs may differ by the ONNX project's own tolerance, 1e-3 of the value plus 1e-7, or by the rounding of the
output's largest number where that is more. A test is `folded` if its outputs are known from constants and shapes alone:
it is right, but no framework took part. It is `unsupported` if
the importer refuses this use of the operator, or the framework lacks the operator.
"""


def by_operator(results: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Return the number of tests of each status for each operator, in order of its name."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(result["operator"], Counter())[result["status"]] += 1
    return dict(sorted(counts.items(), key=lambda item: item[0].lower()))


def reasons(results: Iterable[Mapping[str, Any]], operator: str) -> str:
    """Return why tests of an operator are not supported, the most frequent reason first."""
    details = [r["detail"] for r in results if (r["operator"], r["status"]) == (operator, "unsupported")]
    found = Counter(detail.removeprefix(f"{operator} ") for detail in details)
    named = [f"{reason} ({count})" for reason, count in found.most_common(_MAX_REASONS)]
    more = len(found) - len(named)
    return "; ".join(named) + (f"; and {more} other reasons" if more > 0 else "")


def node_test_table(results: Sequence[Mapping[str, Any]], width: int) -> str:
    """Return the number of tests of each operator by status."""
    counts = by_operator(results)
    columns = [Column("operator", tuple(counts), key=True)]
    for status in STATUSES:
        cells = tuple(str(count[status] or "") for count in counts.values())
        columns.append(Column(status, cells, numeric=True))
    tests = tuple(str(count.total()) for count in counts.values())
    columns.append(Column("tests", tests, numeric=True))
    return table(columns, width)


def node_test_page(reports: Sequence[CheckReport], absent: Mapping[str, str], tests: int) -> str:
    """Return the page of the documentation, in Markdown.

    Parameters
    ----------
    reports : sequence of CheckReport
        Of the node tests, one per framework, the reference first.
    absent : mapping
        Framework to the reason why its tests did not run.
    tests : int
        How many node tests there are, those of operators that are not claimed included.
    """
    first = reports[0].results
    claimed, operators = len(first), by_operator(first)
    lines = [
        _HEAD,
        f"Of {tests:,} tests, {claimed:,} are of the {len(operators)} operators that are imported.",
        "",
        *_totals(reports, absent),
        "",
        "## Passed tests of each operator",
        "",
        "These include folded tests.",
        "",
        *_operators(reports, operators),
        "",
        "## What is refused, and why",
        "",
        *_refused(reports, operators),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _totals(reports: Sequence[CheckReport], absent: Mapping[str, str]) -> list[str]:
    lines = [
        markdown_row(["framework", *STATUSES, "claimed"]),
        markdown_row(["---", *["--:"] * (len(STATUSES) + 1)]),
    ]
    for report in reports:
        counts = [f"{report.count(status):,}" for status in STATUSES]
        name = f"{report.framework} {report.version or ''}".strip()
        lines.append(markdown_row([name, *counts, f"{len(report.results):,}"]))
    lines += ["", *(f"- {name} did not run: {reason}" for name, reason in absent.items())] if absent else []
    return lines


def _operators(reports: Sequence[CheckReport], operators: Mapping[str, Counter[str]]) -> list[str]:
    names = [report.framework for report in reports]
    found = [by_operator(report.results) for report in reports]
    lines = [markdown_row(["operator", "tests", *names]), markdown_row(["---", *["--:"] * (len(names) + 1)])]
    for operator, counts in operators.items():
        right = [f[operator]["passed"] + f[operator]["folded"] if operator in f else 0 for f in found]
        lines.append(markdown_row([operator, str(counts.total()), *map(str, right)]))
    return lines


def _refused(reports: Sequence[CheckReport], operators: Mapping[str, Counter[str]]) -> list[str]:
    """Return the importer's reasons, which all frameworks share, then what each framework adds."""
    reference, *others = reports
    lines = []
    for operator, counts in operators.items():
        if counts["unsupported"]:
            lines.append(f"- {operator}: {reasons(reference.results, operator)}")
    shared = {r["name"] for r in reference.results if r["status"] == "unsupported"}
    for report in others:
        own = [
            r
            for r in report.results
            if r["status"] == "failed" or (r["status"] == "unsupported" and r["name"] not in shared)
        ]
        if own:
            lines += ["", f"### {report.framework}", "", *map(_finding, own)]
    return lines


def _finding(result: Mapping[str, Any]) -> str:
    return f"- `{result['name']}` {result['status']}: {result['detail']}"
