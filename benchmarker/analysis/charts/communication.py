"""Bytes of a step by scheme and ranks: what the scheme's formula says beside what the interfaces counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import framework_of, title_of
from benchmarker.analysis.charts.quantities import Unit, plain, sizes
from benchmarker.analysis.charts.rank_runs import (
    emulation,
    gather_ranks,
    most_frequent,
    panel_names,
    ranks_of,
    scheme_names,
)
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at, work_name

MAX_PANELS = 6
_FORMULA, _WIRE = "by the scheme's formula", "counted on the wire"
_HOW = (
    "Bytes of all ranks together, in one direction; counted by the interfaces of the run, headers included. "
    "Of several runs of one scheme: the median."
)
_UNCOUNTED = "Not counted where ranks share the machine's memory, or the machine lets no run have a network of its own."


@dataclass(frozen=True)
class _Bytes:
    """Bytes of the steps of several runs, of those that tell them."""

    values: tuple[float, ...]

    def at(self, of: Callable[[Sequence[float]], float]) -> float | None:
        return of(self.values) if self.values else None


def chart(records: Sequence[Record]) -> Chart:
    """Return bytes of a step by scheme, a panel for each number of ranks and network, and how far the count is off.

    Parameters
    ----------
    records : sequence of dict
        Any; of several problems the one with the most runs of several ranks is shown.

    Raises
    ------
    UsageError
        If no run of several ranks ended well.
    """
    found = gather_ranks(
        records, "that tell bytes", lambda record: value_at(record, "distributed.volume"), timed=False
    )
    panels = dict(zip(map(id, found.cells), _panels(found.cells)))
    found = most_frequent(found, panels, MAX_PANELS, "of further settings (a filter shows them)")
    schemes = _schemes(found.cells)
    groups: dict[str, dict[str, list[Cell]]] = {}
    for cell, scheme in sorted(zip(found.cells, schemes), key=lambda one: ranks_of(one[0])):
        groups.setdefault(panels[id(cell)], {}).setdefault(scheme, []).append(cell)
    order = tuple(dict.fromkeys(schemes))
    every = [value for cell in found.cells for value in _volumes(cell, "expected_bytes")]
    unit = sizes(every, log=True)
    uncounted = any(not _volumes(cell, "wire_bytes") for cell in found.cells)
    off = _off(groups, order)
    return Chart(
        kind="communication",
        title=title_of(f"{work_name(found.cells[0].first)}, bytes per step", found.cells),
        caption=caption(found, _HOW, _UNCOUNTED if uncounted else "", emulation(found.cells)),
        panels=(*(_panel(name, group, order, unit) for name, group in groups.items()), *off),
    )


def _panels(cells: Sequence[Cell]) -> list[str]:
    """Return the panel of each run; frameworks, machines and batch sizes change no byte."""
    titles = panel_names(cells, but=("framework", "scaling", "machine"))
    return [
        ", ".join(filter(None, (plural(ranks_of(cell), "rank"), title))) for cell, title in zip(cells, titles)
    ]


def _schemes(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the scheme of each run; a native one is the framework's own."""
    return tuple(
        f"{name} of {framework_of(cell)}"
        if value_at(cell.first, "distributed.exchange") == "native"
        else name.removesuffix(", mpi")
        for name, cell in zip(scheme_names(cells), cells)
    )


def _volumes(cell: Cell, name: str) -> list[float]:
    found = [value_at(record, f"distributed.volume.{name}") for record in cell.well]
    return [float(value) for value in found if value is not None]


def _bytes(cells: Sequence[Cell], name: str) -> _Bytes:
    return _Bytes(tuple(value for cell in cells for value in _volumes(cell, name)))


def _panel(title: str, group: Mapping[str, Sequence[Cell]], order: Sequence[str], unit: Unit) -> Panel:
    places = tuple(scheme for scheme in order if scheme in group)
    return Panel(
        Axis("scheme", scale="category", categories=places),
        Axis("bytes per step", unit.name, scale="log"),
        title,
        (
            _points(_FORMULA, 1, [_bytes(group[place], "expected_bytes") for place in places], places, unit),
            _points(_WIRE, 0, [_bytes(group[place], "wire_bytes") for place in places], places, unit),
        ),
    )


def _points(name: str, colour: int, found: Sequence[_Bytes], places: tuple[str, ...], unit: Unit) -> Series:
    values = [one.at(median) for one in found]
    return Series(
        name,
        "points",
        places,
        tuple(map(unit, values)),
        texts=tuple(f"{name}: {_range(one, unit)}" if one.values else "" for one in found),
        colour=colour,
    )


def _range(found: _Bytes, unit: Unit) -> str:
    """Return the median, of several also the smallest and the largest."""
    low, high = (unit.text(end(found.values)) for end in (min, max))
    middle = unit.text(median(found.values))
    return middle if low == high else f"{middle}, from {low} to {high}"


def _off(groups: Mapping[str, Mapping[str, Sequence[Cell]]], order: Sequence[str]) -> tuple[Panel, ...]:
    """Return how far what was counted is from the formula; nothing where nothing was counted."""
    series = []
    for colour, (panel, group) in enumerate(groups.items()):
        found = {scheme: _ratios(group.get(scheme, ())) for scheme in order}
        places = tuple(scheme for scheme, ratios in found.items() if ratios.values)
        shown = [found[place] for place in places]
        if places:
            values = tuple(one.at(median) for one in shown)
            texts = tuple(f"{panel}: {_range(one, plain('%'))}" for one in shown)
            series.append(Series(panel, "bars", places, values, texts=texts, colour=colour + 2))
    if not series:
        return ()
    shown_places = tuple(scheme for scheme in order if any(scheme in one.x for one in series))
    x = Axis("scheme", scale="category", categories=shown_places)
    return (Panel(x, Axis("counted over formula", "%", zero=True), "Count against formula", tuple(series)),)


def _ratios(cells: Sequence[Cell]) -> _Bytes:
    """Return by how many percent more than by the formula was counted in each run."""
    found = []
    for record in (record for cell in cells for record in cell.well):
        volume = record["distributed"]["volume"]
        if volume["wire_bytes"] is not None and volume["expected_bytes"]:
            found.append(100 * (volume["wire_bytes"] / volume["expected_bytes"] - 1))
    return _Bytes(tuple(found))
