"""How step times changed over time: points with their intervals, levels, and where those changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarker.analysis.charts.palette import colour_of
from benchmarker.analysis.charts.quantities import Unit, times
from benchmarker.analysis.history.points import History, Point, histories
from benchmarker.analysis.text.history import change_label, machine_text, moment, title
from benchmarker.api.chart import Axis, Chart, Mark, Panel, Series
from benchmarker.errors import UsageError, plural
from benchmarker.records.precision import DISTURBED

_INTERVALS = "Intervals: 95 %, between the fresh processes of a point, of a single one within it."
_NO_VERDICT = "Points of different days are not pairs: levels describe and give no verdict."


def chart(records: Sequence[dict[str, Any]], *, panels: int = 4, include_contaminated: bool = False) -> Chart:
    """Return the histories with the most points, each in a panel of its own.

    Parameters
    ----------
    records : sequence of dict
        Any, in the shape of the newest version.
    panels : int
        The most panels.
    include_contaminated : bool
        Whether runs count that the machine disturbed.

    Raises
    ------
    UsageError
        If no history has two points.
    """
    if panels < 1:
        raise UsageError(f"a picture has at least 1 panel, got panels={panels}")
    found = histories(records, include_contaminated=include_contaminated)
    every = [history for history in found if len(history.points) > 1]
    if not every:
        raise UsageError(
            "such a picture needs runs of one problem, framework and machine from different times, and none of "
            f"{len(records)} records has that: run the same command again another day, or leave filters out"
        )
    shown = every[:panels]
    return Chart(
        kind="history",
        title="Step time over time",
        caption=_caption(shown, len(every) - len(shown)),
        panels=tuple(map(_panel, shown)),
    )


def _caption(shown: Sequence[History], others: int) -> str:
    points = sum(len(history.points) for history in shown)
    processes = sum(point.processes for history in shown for point in history.points)
    machines = dict.fromkeys(map(machine_text, shown))
    parts = [f"{points} points of {processes} fresh processes on {'; '.join(machines)}.", _INTERVALS]
    short = sum(history.too_short is not None for history in shown)
    if short:
        parts.append(f"In {short} of {len(shown)} there are too few points to look for changes.")
    disturbed = sum(history.left_out for history in shown)
    if disturbed:
        parts.append(f"Left out: {plural(disturbed, 'run')} {DISTURBED}.")
    if others:
        parts.append(f"Left out: {others} further {'history' if others == 1 else 'histories'}.")
    return " ".join([*parts, _NO_VERDICT])


def _panel(history: History) -> Panel:
    points = history.points
    ends = [point.ci95_seconds or (None, None) for point in points]
    unit = times([point.centre_seconds for point in points])
    colour = colour_of(history.record["framework"]["name"])
    measured = Series(
        "",
        "points",
        tuple(point.time for point in points),
        tuple(unit(point.centre_seconds) for point in points),
        low=tuple(unit(low) for low, _ in ends),
        high=tuple(unit(high) for _, high in ends),
        texts=tuple(_text(history, point, unit) for point in points),
        colour=colour,
    )
    return Panel(
        Axis("date (UTC)", scale="time"),
        Axis("step time", unit.name),
        f"{title(history)} (disturbed)" if history.disturbed else title(history),
        (measured, _levels(history, unit, colour)),
        tuple(Mark(change_label(change), x=history.points[change.point].time) for change in history.changes),
    )


def _text(history: History, point: Point, unit: Unit) -> str:
    name = history.record["framework"]["name"]
    version = dict(point.facts.known).get(name, "of unknown version")
    parts = [
        moment(point.time),
        f"{name} {version}",
        unit.text(point.centre_seconds),
        f"n = {point.processes}",
    ]
    parts += [point.grade] if point.grade else []
    return ", ".join([*parts, *point.changed[:3]])


def _levels(history: History, unit: Unit, colour: int) -> Series:
    """Return the level of each stretch, up to where the next begins, with a gap between two."""
    bounds = [history.points[first].time for first, _, _ in history.levels] + [history.points[-1].time]
    x: list[float] = []
    y: list[float | None] = []
    for (start, end), (_, _, level) in zip(pairwise(bounds), history.levels):
        x += [start, end, end]
        y += [unit(level), unit(level), None]
    return Series("", "line", tuple(x), tuple(y), colour=colour, dashed=True, marked=False)
