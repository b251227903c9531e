"""The list of plugins: where each comes from, whether it can run here, and of problems what they cost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.units import count
from benchmarker.quick_dataclass import dataclass
from benchmarker.registry import DESCRIBED_KINDS

if TYPE_CHECKING:
    from benchmarker.experiment.catalogue import ProblemFacts, Support

_MANY = 1000


@dataclass(frozen=True)
class PluginRow:
    """One plugin.

    Parameters
    ----------
    kind, name, origin : str
        As in the registry.
    usable : bool
        Whether it can run here.
    note : str
        Where a framework's interpreter is, or why the plugin cannot run.
    facts : ProblemFacts or None
        Of a problem that is not broken.
    description : str
        What a chart shows, a data set or a suite is, or a scheme does.
    source : str
        Who has published a scheme or a suite.
    configurations : int or None
        How many problems with parameters a suite has.
    """

    kind: str
    name: str
    origin: str
    usable: bool
    note: str = ""
    facts: ProblemFacts | None = None
    description: str = ""
    source: str = ""
    configurations: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON values; those of a problem's facts are null if it is broken."""
        row = {name: getattr(self, name) for name in ("kind", "name", "origin", "usable", "note")}
        if self.kind == "suites":
            return {
                **row,
                "description": self.description or None,
                "source": self.source or None,
                "configurations": self.configurations,
            }
        if self.kind in DESCRIBED_KINDS:
            source = {"source": self.source or None} if self.kind == "schemes" else {}
            return {**row, "description": self.description or None, **source}
        if self.kind != "problems":
            return row
        facts = self.facts
        return {
            **row,
            "task": facts and facts.task,
            "parameter_count": facts and facts.parameters,
            "flops_per_sample": facts and facts.flops_per_sample,
            "batch_size": facts and facts.batch_size,
            "trains": facts and facts.trains,
        }


def plugin_tables(rows: Sequence[PluginRow], width: int) -> str:
    """Return a table for each kind."""
    kinds = dict.fromkeys(row.kind for row in rows)
    return "\n\n".join(_of_kind(kind, [row for row in rows if row.kind == kind], width) for kind in kinds)


def _of_kind(kind: str, rows: Sequence[PluginRow], width: int) -> str:
    origins = tuple(row.origin for row in rows)
    states = tuple("ready" if row.usable else "cannot run" for row in rows)
    columns = [Column(kind, tuple(row.name for row in rows), key=True)]
    common = []
    for title, texts, said in (("from", origins, "all from {}"), ("state", states, "all {}")):
        if len(set(texts)) == 1:
            common.append(said.format(texts[0]))
        else:
            columns.append(Column(title, texts))
    columns += _costs(rows) if kind == "problems" else []
    columns += _suites(rows) if kind == "suites" else []
    if kind in DESCRIBED_KINDS:
        columns.append(Column("what", tuple(row.description or "-" for row in rows)))
    if kind == "schemes":
        columns.append(Column("source", tuple(row.source or "-" for row in rows)))
    if kind == "frameworks":
        columns.append(Column("where", tuple(row.note if row.usable else "-" for row in rows)))
    reasons = [
        textwrap.fill(f"{row.name}: {row.note}", width, subsequent_indent="  ")
        for row in rows
        if not row.usable and row.note
    ]
    heading = [", ".join([kind, *common]), ""] if common else []
    return "\n".join([*heading, table(columns, width), *([""] if reasons else []), *reasons])


def _costs(rows: Sequence[PluginRow]) -> list[Column]:
    facts = [row.facts for row in rows]
    return [
        Column("task", tuple(f.task if f else "-" for f in facts)),
        Column("parameters", tuple(_parameters(f) if f else "-" for f in facts), numeric=True),
        Column("a sample", tuple(_flops(f) if f else "-" for f in facts), numeric=True),
    ]


def _suites(rows: Sequence[PluginRow]) -> list[Column]:
    counts = ["-" if row.configurations is None else str(row.configurations) for row in rows]
    return [
        Column("what", tuple(row.description or "-" for row in rows)),
        Column("configurations", tuple(counts), numeric=True),
    ]


def _parameters(facts: ProblemFacts) -> str:
    return count(facts.parameters, "").rstrip() if facts.parameters >= _MANY else str(facts.parameters)


def _flops(facts: ProblemFacts) -> str:
    return count(facts.flops_per_sample, "FLOP") if facts.flops_per_sample else "-"


# --- problems by framework ------------------------------------------------------------------------

MODE_MARKS = {
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
        columns.append(Column(framework, tuple(MODE_MARKS[row[position].modes] for row in rows)))
    return "\n".join([table(columns, width), *_reasons(rows, width)])


def _reasons(rows: Iterable[Sequence[Support]], width: int) -> list[str]:
    lines = [
        textwrap.fill(f"{cell.problem} on {cell.framework}: {cell.reason}", width, subsequent_indent="  ")
        for row in rows
        for cell in row
        if cell.reason
    ]
    return ["", *lines] if lines else []
