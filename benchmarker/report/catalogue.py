"""Problems by framework: a table for the terminal, and the page of the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from benchmarker import registry
from benchmarker.catalogue import Support, names, problem_facts, support
from benchmarker.report.layout import Column, table

_MARKS = {
    (): "-",
    ("inference",): "inference",
    ("training",): "training",
    ("inference", "training"): "both",
}


def matrix_table(rows: Sequence[Sequence[Support]], width: int) -> str:
    """Return problem by framework by mode, and below it why some cannot."""
    frameworks = [cell.framework for cell in rows[0]] if rows else []
    columns = [Column("problem", tuple(row[0].problem for row in rows))]
    for position, framework in enumerate(frameworks):
        columns.append(Column(framework, tuple(_MARKS[row[position].modes] for row in rows)))
    return "\n".join([table(columns, width), *_reasons(rows, width)])


def _reasons(rows: Iterable[Sequence[Support]], width: int) -> list[str]:
    lines = [
        textwrap.fill(f"{cell.problem} on {cell.framework}: {cell.reason}", width, subsequent_indent="  ")
        for row in rows
        for cell in row
        if cell.reason
    ]
    return ["", *lines] if lines else []


def documentation() -> str:
    """Return the page of the built-in problems, in Markdown."""
    own = registry.OWN_DISTRIBUTION
    plugins = [registry.framework(name) for name in names("frameworks", own)]
    entries = [registry.find("problems", name) for name in names("problems", own)]
    titles = ["problem", "task", "parameters", "FLOP a sample", *(plugin.name for plugin in plugins)]
    lines = [
        "# The problems",
        "",
        "Written by `python -m benchmarker.catalogue`; `python -m benchmarker list problems --matrix` shows the",
        "same. Parameters are trainable values; FLOP are those of the forward pass in convolutions, matrix and",
        "recurrent products, with multiply and add as two, at the default parameters. `both` is inference and",
        "training.",
        "",
        _markdown(titles),
        _markdown(["---", "---", "--:", "--:", *("---" for _ in plugins)]),
    ]
    reasons = []
    for entry in entries:
        facts, cells = problem_facts(entry), support(entry.name, plugins)
        numbers = [f"{facts.parameters:,}", f"{facts.flops_per_sample:,}"]
        lines.append(_markdown([f"`{facts.name}`", facts.task, *numbers, *(_MARKS[c.modes] for c in cells)]))
        reasons += [f"- `{c.problem}` on {c.framework}: {c.reason}" for c in cells if c.reason]
    lines += ["", "## Sources", ""]
    lines += [f"- `{entry.name}`: {registry.problem(entry.name).source}" for entry in entries]
    if reasons:
        lines += ["", "## What cannot run, and why", "", *reasons]
    return "\n".join(lines) + "\n"


def _markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
