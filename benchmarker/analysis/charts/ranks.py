"""What more ranks were worth, as measured: speed-up and efficiency over one rank, beside the ideal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.labels import framework_of, names, title_of
from benchmarker.analysis.charts.quantities import Row, Value, colours_of, plain, series
from benchmarker.analysis.charts.rank_runs import (
    IDEAL_COLOUR,
    distributed,
    emulation,
    is_training,
    most_frequent,
    of_one_problem,
    panel_names,
    ranks_of,
    scaling,
    scheme_colours,
    scheme_names,
)
from benchmarker.analysis.charts.selection import Selection, gather, keep
from benchmarker.analysis.scaling.efficiency import Ratio, Scaled, scaled
from benchmarker.analysis.scaling.periods import period_of
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import UsageError, plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, work_name

MAX_PAIRS, MAX_PANELS = 3, 12
"""Most panels that have the speed-up above the efficiency, and most that have one of them."""
_LOW = 0.1
"""An efficiency below which lines would lie upon each other on an axis from 0."""
_NEEDS = "runs of several ranks, each with one of a single rank of the same framework, machine, problem and settings"
_HOW = (
    "Speed-up: samples per second over those of one rank, of weak scaling with a rank's mini-batch; efficiency: over "
    "the number of ranks. Their intervals are the widest that those of both step times allow."
)
_PERIODS = "A step of averaging is the mean from one exchange of weights to the next."
_ONE_MACHINE = "Ranks share the cores and the memory of one machine."


@dataclass(frozen=True)
class _Shown:
    """A run of several ranks, its panel and its line."""

    run: Scaled
    panel: str
    line: str


def chart(records: Sequence[Record], *, log: bool | None = None) -> Chart:
    """Return speed-up and efficiency against ranks, a panel for what is not to be compared, a line a scheme.

    Of one scheme alone the lines are frameworks.

    Parameters
    ----------
    records : sequence of dict
        Any; of several problems the one with the most runs is shown.
    log : bool, optional
        Whether the efficiency has a logarithmic axis; the values decide if not given.

    Raises
    ------
    UsageError
        If no run of several ranks has one of a single rank beside it.
    """
    gathered, shown = _selected(records)
    cells = [one.run.cell for one in shown]
    panels = list(dict.fromkeys(one.panel for one in shown))
    both = len(panels) <= MAX_PAIRS
    colour = _colours(shown)
    lowest = min((found.value for one in shown if (found := one.run.efficiency)), default=1.0)
    is_log = lowest < _LOW if log is None else log
    efficiencies = [_efficiency(name, shown, colour, log=is_log) for name in panels]
    speedups = [_speedup(name, shown, colour) for name in panels] if both else []
    scalings = {scaling(cell.first) for cell in cells}
    scaling_note = f"{scalings.pop().capitalize()}." if len(scalings) == 1 else ""
    return Chart(
        kind="ranks",
        title=title_of(f"{work_name(cells[0].first)} on several ranks", cells),
        caption=caption(
            gathered,
            scaling_note,
            _HOW,
            "" if both else "The speed-up is the efficiency times the ranks.",
            _PERIODS if any(period_of(cell.first) > 1 for cell in cells) else "",
            intervals(gathered.cells).replace("Intervals", "Of step times"),
            emulation(cells) or _ONE_MACHINE,
        ),
        panels=(*speedups, *efficiencies),
    )


def _selected(records: Sequence[Record]) -> tuple[Selection, list[_Shown]]:
    """Return all that is shown, single ranks among it, and the runs of several with panel and line."""
    found = gather(records, _NEEDS, is_training, "that train nothing")
    held = [one for one in scaled(found.cells) if one.distributed and one.speedup]
    if not held:
        raise UsageError(
            f"such a picture needs {_NEEDS}, and none of {plural(len(records), 'record')} has that"
        )
    several = Selection(tuple(one.cell for one in held))
    shown = _placed(held, of_one_problem(several).cells)
    panels = {id(one.run.cell): one.panel for one in shown}
    few = most_frequent(Selection(tuple(one.run.cell for one in shown)), panels, MAX_PANELS, "")
    chosen = {id(cell) for cell in few.cells}
    shown = [one for one in shown if id(one.run.cell) in chosen]
    bases = {id(one.run.baseline) for one in shown}
    alone = keep(
        found, lambda cell: bool(distributed(cell.first)) or id(cell) in bases, "of a single rank alone"
    )
    return (
        keep(
            alone, lambda cell: id(cell) in chosen | bases, "of several ranks alone, other problems or panels"
        ),
        shown,
    )


def _placed(held: Sequence[Scaled], cells: Sequence[Cell]) -> list[_Shown]:
    """Return the runs with panels and lines: a line is a scheme, where there are several, else a framework."""
    kept = {id(cell) for cell in cells}
    runs = [one for one in held if id(one.cell) in kept]
    schemes = scheme_names(cells)
    several = len(set(schemes)) > 1
    panels = panel_names(cells, but=() if several else ("framework",))
    scheme_of = dict(zip(map(id, cells), schemes))

    def base(cell: Cell) -> str:
        return scheme_of[id(cell)] if several else framework_of(cell)

    lines = names(cells, [(panel, ranks_of(cell)) for panel, cell in zip(panels, cells)], base)
    return [_Shown(run, panel, line) for run, panel, line in zip(runs, panels, lines)]


def _colours(shown: Sequence[_Shown]) -> dict[str, int]:
    """Return the colour of each line: the framework's own, or one of the scheme."""
    if len(set(scheme_names([one.run.cell for one in shown]))) > 1:
        return scheme_colours(sorted(one.line for one in shown))
    return colours_of([Row(one.line, framework_of(one.run.cell), 1, Value(1.0)) for one in shown])


def _axis() -> Axis:
    return Axis("ranks", "", scale="log2")


def _speedup(panel: str, shown: Sequence[_Shown], colour: dict[str, int]) -> Panel:
    rows = _rows(panel, shown, lambda run: run.speedup)
    counts = _counts(rows)
    title = f"Speed-up: {panel}" if panel else "Speed-up"
    y = Axis("speed-up over one rank", "", scale="log")
    return Panel(_axis(), y, title, (*series(rows, "line", plain(""), colour), _ideal(counts, counts)))


def _efficiency(panel: str, shown: Sequence[_Shown], colour: dict[str, int], *, log: bool) -> Panel:
    rows = _rows(panel, shown, lambda run: run.efficiency and run.efficiency.over(0.01))
    counts = _counts(rows)
    title = f"Efficiency: {panel}" if panel else "Efficiency"
    ideal = _ideal(counts, (100.0,) * len(counts))
    y = Axis("efficiency", "%", scale="log" if log else "linear", zero=not log)
    return Panel(_axis(), y, title, (*series(rows, "line", plain("%"), colour), ideal))


def _ideal(counts: Sequence[int], values: Sequence[float]) -> Series:
    return Series("ideal", "line", tuple(counts), tuple(values), colour=IDEAL_COLOUR, dashed=True)


def _rows(panel: str, shown: Sequence[_Shown], ratio: Callable[[Scaled], Ratio | None]) -> list[Row]:
    """Return the values of a panel, of each line from its one rank on."""
    rows: list[Row] = []
    for one in (one for one in shown if one.panel == panel):
        framework = framework_of(one.run.cell)
        if not any(row.name == one.line for row in rows):
            rows.append(Row(one.line, framework, 1, Value(_of_one(ratio, one.run)), "1 rank"))
        found = ratio(one.run)
        if found is not None:
            value = Value(found.value, found.low, found.high)
            rows.append(Row(one.line, framework, one.run.ranks, value, plural(one.run.ranks, "rank")))
    return rows


def _of_one(ratio: Callable[[Scaled], Ratio | None], run: Scaled) -> float:
    """Return the ratio of the run of one rank to itself."""
    found = ratio(Scaled(run.baseline or run.cell, run.baseline or run.cell))
    return found.value if found else 1.0


def _counts(rows: Sequence[Row]) -> list[int]:
    return sorted({int(row.place) for row in rows})
