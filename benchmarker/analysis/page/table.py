"""The table of all runs: what each cell says, and by what it is sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.tones import TONES
from benchmarker.analysis.text.units import significant
from benchmarker.machine.trust import GRADES
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import machine_name
from benchmarker.records.lookup import Record, value_at, work_name


@dataclass(frozen=True)
class Heading:
    """A column.

    Parameters
    ----------
    title : str
        With its unit.
    numeric : bool
        Whether it is a column of numbers, and sorted so.
    hint : str
        What it means, in a few words.
    ranked : bool
        Whether its words are sorted by their rank, the best first.
    setting : bool
        Whether it is a part of what was asked, and is said once where it is the same in all runs.
    wraps : bool
        Whether its words may be long, and go on in a second line.
    """

    title: str
    numeric: bool = False
    hint: str = ""
    ranked: bool = False
    setting: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell; it is sorted by ``value`` if its column is numeric or ranked, and last without one."""

    text: str
    value: float | None = None
    tone: str = ""


@dataclass(frozen=True)
class Row:
    """A run in the table.

    Parameters
    ----------
    cells : tuple of Cell
        In the order of the headings.
    choices : dict
        What the filters compare: problem, mode, batch, threads, machine, framework, trust, status.
    """

    cells: tuple[Cell, ...]
    choices: dict[str, str]


HEADINGS = (
    Heading("started, UTC"),
    Heading("framework", wraps=True),
    Heading("problem", wraps=True),
    Heading("trust", ranked=True, hint="whether the run was disturbed from outside"),
    Heading("status"),
    Heading("mode", setting=True),
    Heading("batch", numeric=True, hint="samples in a mini-batch", setting=True),
    Heading("precision", setting=True),
    Heading("device", setting=True),
    Heading("threads", numeric=True, setting=True),
    Heading("median step, ms", numeric=True),
    Heading("± %", numeric=True, hint="half of the median's 95 % interval within the process"),
    Heading("samples/s", numeric=True),
    Heading("memory, MiB", numeric=True, hint="largest resident size of the process"),
    Heading("verified", hint="whether it computed the same as the reference"),
)


@dataclass(frozen=True)
class Table:
    """The table of all runs.

    Parameters
    ----------
    headings : tuple of Heading
        Those settings that vary, and all that was measured.
    rows : tuple of Row
        One a record, in order.
    constant : tuple of (str, str)
        Settings that are the same in all runs: title and text.
    """

    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    constant: tuple[tuple[str, str], ...]


def table(records: Sequence[Record]) -> Table:
    """Return the table of some records, at least one."""
    rows = [_row(record) for record in records]
    texts = list(zip(*(tuple(cell.text for cell in one.cells) for one in rows)))
    constant = [
        place for place, heading in enumerate(HEADINGS) if heading.setting and len(set(texts[place])) == 1
    ]
    shown = [place for place in range(len(HEADINGS)) if place not in constant]
    return Table(
        headings=tuple(HEADINGS[place] for place in shown),
        rows=tuple(Row(tuple(one.cells[place] for place in shown), one.choices) for one in rows),
        constant=tuple((HEADINGS[place].title, texts[place][0]) for place in constant if texts[place][0]),
    )


def _row(record: Record) -> Row:
    """Return the row of a record with all columns."""
    grade = str(value_at(record, "trust.grade") or "")
    verified = str(value_at(record, "verification.status") or "")
    status = str(record["status"]).replace("_", " ")
    step = value_at(record, "timing.step_seconds") or {}
    cells = (
        Cell(when(record["started_at"])),
        Cell(framework_label(record)),
        Cell(work_name(record)),
        Cell(grade, GRADES.index(grade) if grade in GRADES else None, TONES.get(grade, "")),
        Cell(status, tone=TONES.get(status, "")),
        Cell(str(record["mode"])),
        _number(record["batch_size"]),
        Cell(str(record["precision"])),
        Cell(str(record["device"]["type"])),
        _number(value_at(record, "execution.threads")),
        _number(step.get("median"), 1e3),
        _number(_half_width(step)),
        _number(value_at(record, "metrics.throughput")),
        _number(value_at(record, "memory.peak_bytes"), 2**-20),
        Cell(verified, tone=TONES.get(verified, "")),
    )
    choices = {
        "problem": work_name(record),
        "mode": str(record["mode"]),
        "batch": str(record["batch_size"]),
        "threads": str(value_at(record, "execution.threads") or ""),
        "machine": machine_name(record),
        "framework": str(record["framework"]["name"]),
        "trust": grade,
        "status": status,
    }
    return Row(cells, choices)


def when(timestamp: Any) -> str:
    """Return a time of a record to the second, without the letters of ISO 8601."""
    return str(timestamp)[:19].replace("T", " ")


def _half_width(step: Mapping[str, Any]) -> float | None:
    """Return half of the interval's width in per cent of the median."""
    interval, median = step.get("ci95"), step.get("median")
    return 50 * (interval[1] - interval[0]) / median if interval and median else None


def _number(value: float | None, factor: float = 1) -> Cell:
    if value is None:
        return Cell("")
    scaled = value * factor
    whole = isinstance(value, int) and factor == 1
    return Cell(f"{value:,}" if whole else significant(scaled, 4), scaled)
