"""Frameworks over many configurations of operators: step times, and the ratio to the first framework."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.factors import framework_label, specification_factors
from benchmarker.analysis.text.layout import Column, numeric_column, table
from benchmarker.analysis.text.units import duration, significant, time_unit
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell, cells
from benchmarker.records.keys import configuration
from benchmarker.records.lookup import specification_of, value_at
from benchmarker.statistics import Estimate, paired_ratio

_NONE = "-"
_OWN = ("framework", "framework_version", "framework_options", "repetition")
"""Members of a specification that are the framework's; all others tell configurations apart."""
_RATIO = (
    "Ratio: step time over that of {}, geometric mean over the configurations that both ran. Its 95 % interval: "
    "Student's t on the logarithms, over configurations."
)
_ERROR = "L2 error: the largest of all tensors, against float64, relative to the norm of the tensor."
_REPEATS = "Same bits: whether reruns of a mini-batch gave the same bits in every tensor."

Row = Mapping[str, Cell]
"""Of a configuration: framework to the cell of its runs, ended well or not."""


@dataclass(frozen=True)
class FrameworkScore:
    """A framework over the configurations of a mode and precision.

    Parameters
    ----------
    framework, mode : str
        Which; the mode with the precision where there are several.
    configurations : int
        How many it ran well.
    ratio : Estimate or None
        Its step time over that of the first framework, of the configurations that both ran well on the same
        values; None if there are none.
    l2_relative : float or None
        The largest error of its tensors; None if one is not known.
    bitwise_equal : bool or None
        Whether reruns gave the same bits everywhere; None if there were none.
    """

    framework: str
    mode: str
    configurations: int
    ratio: Estimate | None
    l2_relative: float | None
    bitwise_equal: bool | None


def framework_score(rows: Sequence[Row], framework: str, first: str, mode: str) -> FrameworkScore:
    """Return how a framework stands over the configurations of a mode and precision."""
    own = [row[framework] for row in rows if framework in row and row[framework].well]
    pairs = [(row[first], row[framework]) for row in rows if _comparable(row, first, framework)]
    ratio = (
        paired_ratio([b.step_seconds or 0.0 for _, b in pairs], [a.step_seconds or 0.0 for a, _ in pairs])
        if pairs
        else None
    )
    known = [operator for cell in own for record in cell.well if (operator := record.get("operator"))]
    errors = [operator["l2_relative"] for operator in known]
    return FrameworkScore(
        framework,
        mode,
        len(own),
        ratio,
        max(errors) if errors and None not in errors else None,
        all(operator["bitwise_equal"] for operator in known) if known else None,
    )


def _comparable(row: Row, first: str, other: str) -> bool:
    if first not in row or other not in row:
        return False
    if not row[first].step_seconds or not row[other].step_seconds:
        return False
    return not row[other].other_values(row[first])


def operators_report(records: Iterable[Mapping[str, Any]], *, width: int = 80) -> str:
    """Return the step times of each configuration by framework, and below how each framework stands.

    Parameters
    ----------
    records : iterable of dict
        Valid records of one experiment, in the order that was asked for.
    width : int
        Characters a line should have at most.
    """
    every = cells(records)
    names = _names(every)
    rows: dict[str, dict[str, Cell]] = {}
    for cell, name in zip(every, names):
        rows.setdefault(configuration(cell.first, _OWN), {})[name] = cell
    frameworks, found = list(dict.fromkeys(names)), list(rows.values())
    factors = specification_factors([specification_of(_any(row).first) for row in found])
    titles = [a.title for a in factors if a.varies and a.title not in ("mode", "options")]
    labels = [
        ", ".join(a.texts[place] for a in factors if a.title in titles) or _any(row).first["problem"]["name"]
        for place, row in enumerate(found)
    ]
    said = [a.caption for a in factors if not a.varies and a.caption and a.title != "options"]
    blocks = ["\n".join(textwrap.wrap(", ".join(said), width))]
    scores = []
    # A precision is no configuration of which others would be further examples: each is summed up by itself.
    modes = _modes([_any(row).first for row in found])
    for mode in dict.fromkeys(modes):
        places = [place for place, of in enumerate(modes) if of == mode]
        chosen = [found[place] for place in places]
        blocks.append(_times([labels[place] for place in places], chosen, frameworks, mode, width))
        scores += [framework_score(chosen, name, frameworks[0], mode) for name in frameworks]
    blocks += [_score_table(scores, width), *_notes(every, names, width)]
    return "\n\n".join(block for block in blocks if block)


def _modes(firsts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the mode of each record, with its precision where there are several."""
    several = len({first["precision"] for first in firsts}) > 1
    return [f"{first['mode']}, {first['precision']}" if several else first["mode"] for first in firsts]


def _any(row: Row) -> Cell:
    return next(iter(row.values()))


def _names(every: Sequence[Cell]) -> list[str]:
    """Return a short name of the framework of each cell: with its version and options where one is not enough."""
    options = [
        json.dumps([cell.first["framework"][key] for key in ("requested_version", "options")], sort_keys=True)
        for cell in every
    ]
    plain = [str(cell.first["framework"]["name"]) for cell in every]
    kinds: dict[str, list[str]] = {}
    for name, option in zip(plain, options):
        if option not in kinds.setdefault(name, []):
            kinds[name].append(option)
    return [
        name if len(kinds[name]) == 1 else f"{framework_label(cell.first)} ({kinds[name].index(option) + 1})"
        for cell, name, option in zip(every, plain, options)
    ]


def _times(
    labels: Sequence[str], rows: Sequence[Row], frameworks: Sequence[str], mode: str, width: int
) -> str:
    times = [cell.step_seconds for row in rows for cell in row.values() if cell.step_seconds]
    unit = time_unit(times) if times else None

    def shown(cell: Cell | None) -> str:
        step = cell.step_seconds if cell else None
        if step is None:
            return _NONE
        return significant(step / unit[0]) if unit else duration(step)

    columns = [Column("configuration", tuple(labels), key=True)]
    columns += [numeric_column(name, [shown(row.get(name)) for row in rows]) for name in frameworks]
    return f"{mode}: median step{f' [{unit[1]}]' if unit else ''}\n\n{table(columns, width)}"


def _score_table(scores: Sequence[FrameworkScore], width: int) -> str:
    def column(title: str, show: Callable[[FrameworkScore], str]) -> Column:
        return Column(title, tuple(map(show, scores)), numeric=True)

    columns = [
        Column("framework", tuple(s.framework for s in scores), key=True),
        Column("mode", tuple(s.mode for s in scores)),
        column("ran", lambda s: str(s.configurations)),
        column("ratio", lambda s: f"{s.ratio.centre:.3f}" if s.ratio else _NONE),
        column("95 % interval", _interval),
        column("L2 error", lambda s: _NONE if s.l2_relative is None else f"{s.l2_relative:.1e}"),
        column("same bits", lambda s: {True: "yes", False: "no", None: _NONE}[s.bitwise_equal]),
    ]
    notes = [_RATIO.format(scores[0].framework), _ERROR, _REPEATS]
    wrapped = [textwrap.fill(note, width, subsequent_indent="  ") for note in notes]
    return "\n".join([table(columns, width), "", *wrapped])


def _interval(found: FrameworkScore) -> str:
    interval = found.ratio.ci95 if found.ratio else None
    # The first framework beside itself, on which nothing is unknown, has none to speak of.
    return f"[{interval[0]:.3f}, {interval[1]:.3f}]" if interval and interval[0] < interval[1] else _NONE


def _notes(every: Sequence[Cell], names: Sequence[str], width: int) -> list[str]:
    """Say once what a framework could not do, how often, and how far numbers are not to be trusted."""
    counts: dict[str, int] = {}
    for cell, name in zip(every, names):
        for record in cell.records:
            if record["error"]:
                message = record["error"]["message"].strip().splitlines()[0]
                text = f"{name}, {record['mode']}: {record['status'].replace('_', ' ')}: {message}"
                counts[text] = counts.get(text, 0) + 1
    lines = [f"{text} ({count} runs)" if count > 1 else text for text, count in counts.items()]
    well = [record for cell in every for record in cell.well]
    grades = [value_at(record, "trust.grade") for record in well]
    doubtful = {grade: grades.count(grade) for grade in ("noisy", "contaminated") if grade in grades}
    lines += [
        f"trust: {count} of {len(well)} runs are {grade}; 'results list' tells which"
        for grade, count in doubtful.items()
    ]
    return ["\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)]
