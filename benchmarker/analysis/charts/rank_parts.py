"""Where a step of several ranks goes: computing, exchange and update, waiting for the slowest rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import framework_of, names, title_of
from benchmarker.analysis.charts.quantities import Unit, times
from benchmarker.analysis.charts.rank_runs import (
    emulation,
    gather_ranks,
    most_frequent,
    panel_names,
    ranks_of,
    scaling,
    scheme_names,
)
from benchmarker.analysis.scaling.periods import period_of
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import plural
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at, work_name

MAX_PANELS = 8
_PARTS = {"compute": "computing", "exchange": "exchange and update", "waiting": "waiting for the slowest"}
_REST = "rest of the step, not broken down"
BETWEEN_EXCHANGES = "Averaging: the steps between exchanges of weights, which these parts leave out."
_NATIVE = (
    "A native exchange overlaps with computing: what a timed step takes beyond computing alone is one part."
)
_HOW = (
    "Medians of steps made part by part after the timed ones. Computing: forward and backward of the slowest rank, "
    "all of them at work; exchange: from when the last rank has reached it; waiting: for that rank, mean over ranks."
)


def chart(records: Sequence[Record]) -> Chart:
    """Return the parts of a step by scheme, a panel for each number of ranks and what else is not to be compared.

    Of one scheme alone the places are the numbers of ranks.

    Parameters
    ----------
    records : sequence of dict
        Any; of several problems the one with the most runs of several ranks is shown.

    Raises
    ------
    UsageError
        If no run of several ranks ended well with its parts.
    """
    found = gather_ranks(records, "with the parts of their steps", _has_parts)
    counts = len({ranks_of(cell) for cell in found.cells})
    several = len(set(scheme_names(found.cells))) > 1
    titles = dict(zip(map(id, found.cells), panel_names(found.cells)))
    most = max(1, MAX_PANELS // counts) if several else MAX_PANELS
    found = most_frequent(found, titles, most, "of further settings (a filter shows them)")
    groups = _groups(found.cells, titles, several)
    unit = times([sum(_seconds(cell).values()) for cell in found.cells])
    lacking = any(None in _all_parts(cell).values() for cell in found.cells)
    scalings = {scaling(cell.first) for cell in found.cells}
    return Chart(
        kind="rank_parts",
        title=title_of(f"{work_name(found.cells[0].first)}, parts of a step", found.cells),
        caption=caption(
            found,
            f"{scalings.pop().capitalize()}." if len(scalings) == 1 else "",
            _HOW,
            _NATIVE if lacking else "",
            BETWEEN_EXCHANGES if any(period_of(cell.first) > 1 for cell in found.cells) else "",
            emulation(found.cells),
        ),
        panels=tuple(_panel(name, group, unit, several) for name, group in groups.items()),
    )


def _has_parts(record: Record) -> bool:
    """Tell whether a record has parts; one of a training to accuracy has computing alone."""
    parts = value_at(record, "distributed.parts") or {}
    is_native = value_at(record, "distributed.exchange") == "native"
    return parts.get("compute_seconds") is not None and (is_native or parts["exchange_seconds"] is not None)


def _groups(cells: Sequence[Cell], titles: Mapping[int, str], several: bool) -> dict[str, dict[str, Cell]]:
    """Return the runs of each panel by their place in it, those of the same settings beside each other."""
    places = scheme_names(cells) if several else tuple(plural(ranks_of(cell), "rank") for cell in cells)
    base = dict(zip(map(id, cells), places))
    panels = [_panel_name(cell, titles[id(cell)], several) for cell in cells]
    labels = names(cells, panels, lambda cell: base[id(cell)])
    order = {title: place for place, title in enumerate(dict.fromkeys(titles[id(cell)] for cell in cells))}
    groups: dict[str, dict[str, Cell]] = {}
    for cell, panel, place in sorted(
        zip(cells, panels, labels), key=lambda one: (order[titles[id(one[0])]], ranks_of(one[0]))
    ):
        groups.setdefault(panel, {})[place] = cell
    return groups


def _panel_name(cell: Cell, title: str, several: bool) -> str:
    return ", ".join(filter(None, (title, plural(ranks_of(cell), "rank") if several else "")))


def _all_parts(cell: Cell) -> dict[str, float | None]:
    """Return the seconds of each part, the median of processes; None where it is not told."""
    found: dict[str, float | None] = {}
    for name in _PARTS:
        values = [value_at(record, f"distributed.parts.{name}_seconds") for record in cell.well]
        known = [value for value in values if value is not None]
        found[name] = median(known) if known else None
    return found


def _seconds(cell: Cell) -> Mapping[str, float]:
    """Return the seconds of what is known of a step by its name in the picture."""
    parts = _all_parts(cell)
    found = {_PARTS[name]: seconds for name, seconds in parts.items() if seconds is not None}
    if parts["exchange"] is None:
        found[_REST] = max(0.0, (cell.step_seconds or 0.0) - (parts["compute"] or 0.0))
    return found


def _panel(title: str, group: Mapping[str, Cell], unit: Unit, several: bool) -> Panel:
    places = tuple(group)
    first = next(iter(group.values()))
    return Panel(
        Axis("scheme" if several else "ranks", scale="category", categories=places),
        Axis("time per step", unit.name, zero=True),
        title or framework_of(first),
        tuple(
            _series(name, colour, group, unit)
            for colour, name in enumerate((*_PARTS.values(), _REST))
            if any(name in _seconds(cell) for cell in group.values())
        ),
    )


def _series(name: str, colour: int, group: Mapping[str, Cell], unit: Unit) -> Series:
    found = [_seconds(cell).get(name) for cell in group.values()]
    texts = tuple("" if value is None else f"{name}: {unit.text(value)}" for value in found)
    return Series(name, "stacked", tuple(group), tuple(map(unit, found)), texts=texts, colour=colour)
