"""What more CPU threads are worth, in one campaign: speed-up over the fewest, beside the ideal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.labels import framework_of, names, short, title_of
from benchmarker.analysis.charts.quantities import METRICS, Row, Value, plain, row_of, runs_of, series
from benchmarker.analysis.charts.selection import Selection, few_series, gather, keep, split
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import UsageError
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at, work_name
from benchmarker.statistics import paired_ratio

_PAIRED = (
    "Intervals of the speed-up: 95 %, Student's t over rounds in which both thread counts ran; none where "
    "there are fewer than 3."
)
_UNPAIRED = (
    "The runs belong to no campaign and are not pairs: the speed-up has no interval, and includes whatever else "
    "changed between them."
)


def chart(records: Sequence[Record]) -> Chart:
    """Return speed-up and throughput against threads, of the campaign with the most numbers of threads.

    The speed-up is the step time with the fewest threads over the step time with more, of one framework.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems and campaigns, and devices other than CPUs, are left out.

    Raises
    ------
    UsageError
        If no framework ran on a CPU with several numbers of threads in one campaign.
    """
    needs = "runs on a CPU that ended well, with several numbers of threads"
    on_cpu = gather(records, needs, lambda record: record["device"]["type"] == "cpu", "on other devices")
    known = keep(on_cpu, lambda cell: _threads(cell) > 0, "of an unknown number of threads")
    gathered = few_series(_one_campaign(known), _labels, places=("threads",))
    cells, labels = gathered.cells, _labels(gathered.cells)
    work = short(work_name(cells[0].first))
    return Chart(
        kind="threads",
        title=title_of(f"{work} by CPU threads", cells),
        caption=caption(
            gathered,
            _PAIRED if _campaign(cells[0].first) else _UNPAIRED,
            intervals(cells).replace("Intervals", "Of the throughput"),
        ),
        panels=(_speedup(cells, labels), _throughput(cells, labels)),
    )


def _one_campaign(known: Selection) -> Selection:
    """Keep the campaign in which one framework has the most numbers of threads; runs of none are no pairs."""
    divided = split(known, _campaign)
    groups: dict[Hashable, list[Cell]] = {}
    for cell in divided.cells:
        groups.setdefault((cell.work, _campaign(cell.first)), []).append(cell)
    several = [key for key, cells in groups.items() if _most_counts(cells) > 1]
    if not several:
        raise UsageError(
            "such a picture needs runs of one problem and framework with several numbers of threads in one "
            f"campaign, and none of {len(divided.records)} runs on a CPU that ended well has that"
        )
    best = max(several, key=lambda key: (_most_counts(groups[key]), bool(_campaign(groups[key][0].first))))
    others = "of other problems, modes, sizes or campaigns"
    return keep(divided, lambda cell: (cell.work, _campaign(cell.first)) == best, others)


def _most_counts(cells: Sequence[Cell]) -> int:
    return max(map(len, _counts(cells, _labels(cells)).values()), default=0)


def _counts(cells: Sequence[Cell], labels: Sequence[str]) -> dict[str, set[int]]:
    """Return the numbers of threads of each series."""
    found: dict[str, set[int]] = {}
    for cell, name in zip(cells, labels):
        found.setdefault(name, set()).add(_threads(cell))
    return found


def _labels(cells: Sequence[Cell]) -> tuple[str, ...]:
    return names(cells, [_threads(cell) for cell in cells])


def _campaign(record: Record) -> str | None:
    campaign: str | None = value_at(record, "replication.campaign")
    return campaign


def _speedup(cells: Sequence[Cell], labels: Sequence[str]) -> Panel:
    found = _counts(cells, labels)
    counts = sorted(set().union(*(numbers for numbers in found.values() if len(numbers) > 1)))
    fewest = counts[0]
    baselines = {name: cell for cell, name in zip(cells, labels) if _threads(cell) == fewest}
    # A framework that has no run with the fewest threads has nothing to be compared with.
    rows = [
        Row(name, framework_of(cell), _threads(cell), _ratio(baselines[name], cell), runs=runs_of(cell))
        for cell, name in zip(cells, labels)
        if name in baselines and len(found[name]) > 1
    ]
    ideal = Series(
        "ideal", "line", tuple(counts), tuple(n / fewest for n in counts), colour=_LAST, dashed=True
    )
    y = Axis(f"speed-up over {fewest} thread{'s' if fewest > 1 else ''}", "", zero=True)
    return Panel(_axis(), y, "Speed-up", (*series(rows, "line", plain("")), ideal))


_LAST = 7
"""Black; what is measured is not dashed."""


def _throughput(cells: Sequence[Cell], labels: Sequence[str]) -> Panel:
    rows = [row_of(cell, name, _threads(cell), "throughput") for cell, name in zip(cells, labels)]
    throughput = METRICS["throughput"]
    unit = throughput.unit(rows)
    return Panel(_axis(), throughput.axis(unit), "Throughput", series(rows, "line", unit))


def _axis() -> Axis:
    return Axis("CPU threads", "", scale="log2")


def _threads(cell: Cell) -> int:
    return int(cell.first["execution"]["threads"] or 0)


def _ratio(baseline: Cell, cell: Cell) -> Value:
    """Return the speed-up with its interval, where both cells ran in the same rounds."""
    ratio = (baseline.step_seconds or 0.0) / (cell.step_seconds or 1.0)
    before, after = _by_round(baseline), _by_round(cell)
    rounds = [key for key in before if key in after]
    if cell is baseline or not rounds:
        return Value(ratio)
    found = paired_ratio([before[key] for key in rounds], [after[key] for key in rounds])
    return Value(found.centre, *found.ci95) if found.ci95 else Value(ratio)


def _by_round(cell: Cell) -> Mapping[tuple[str, int], float]:
    """Return the median steps of a cell by campaign and round."""
    return {
        (campaign, value_at(record, "replication.round")): record["timing"]["step_seconds"]["median"]
        for record in cell.well
        if (campaign := _campaign(record))
    }
