"""The shares of operators in a step, as the frameworks' own profilers measured them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarker.plots.chart import Axis, Panel, Series
from benchmarker.plots.gathering import Record
from benchmarker.plots.naming import names
from benchmarker.report.asked import value_at
from benchmarker.report.cells import Cell
from benchmarker.statistics import percentile

MOST, SMALLEST = 7, 1.0
"""Operators that have a name, and the percentage that one must have somewhere."""
UPDATE, UNEXPLAINED, OTHER = "update", "unexplained", "other"

Shares = Mapping[str, float]
"""Percent of a step by operator; the update of parameters and what is not explained are among them."""


def has_operators(record: Record) -> bool:
    """Whether a record has operators that were measured."""
    return bool(value_at(record, "profile.nodes"))


def shares(cell: Cell) -> Shares:
    """Return the shares of a cell, the median of processes; nothing where no process has any."""
    found: dict[str, list[float]] = {}
    measured = [_shares(record) for record in cell.well if has_operators(record)]
    for name in dict.fromkeys(name for each in measured for name in each):
        found[name] = sorted(each.get(name, 0.0) for each in measured)
    return {name: percentile(values, 50) for name, values in found.items()}


def _shares(record: Record) -> dict[str, float]:
    profile = record["profile"]
    found: dict[str, float] = {}
    for node in profile["nodes"]:
        found[node["operator"]] = found.get(node["operator"], 0.0) + 100.0 * node["share"]
    if profile["update_seconds"] is not None:
        found[UPDATE] = 100.0 * profile["update_seconds"] / profile["step_seconds"]
    found[UNEXPLAINED] = 100.0 * profile["unexplained_share"]
    return found


def ranked(cells: Sequence[Cell]) -> list[str]:
    """Return the operators with the largest shares in any of the cells."""
    largest: dict[str, float] = {}
    for cell in cells:
        for name, share in shares(cell).items():
            largest[name] = max(share, largest.get(name, 0.0))
    told = [name for name, share in largest.items() if share >= SMALLEST and name != UNEXPLAINED]
    return sorted(told, key=lambda name: -largest[name])[:MOST]


def panel(title: str, cells: Sequence[Cell], ranks: Sequence[str]) -> Panel:
    """Return the shares of each framework; an operator has the colour of its rank."""
    measured = [cell for cell in cells if shares(cell)]
    labels = names(measured)
    each = [_gathered(shares(cell), ranks) for cell in measured]
    series = tuple(
        Series(
            name,
            "stacked",
            labels,
            tuple(found.get(name, 0.0) for found in each),
            texts=tuple(f"{name}: {found.get(name, 0.0):.1f} %" for found in each),
            colour=colour,
        )
        for colour, name in enumerate((*ranks, OTHER, UNEXPLAINED))
        if any(found.get(name) for found in each)
    )
    return Panel(
        Axis("framework", scale="category", categories=labels),
        Axis("share of a step", "%", zero=True),
        f"{title}: measured, by operator",
        series,
    )


def _gathered(found: Shares, ranks: Sequence[str]) -> Shares:
    kept = {name: share for name, share in found.items() if name in (*ranks, UNEXPLAINED)}
    rest = sum(share for name, share in found.items() if name not in kept)
    return {**kept, OTHER: rest}
