"""Achieved FLOP/s against arithmetic intensity, under what the machine can do at most.

S. Williams, A. Waterman, D. Patterson: Roofline, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.labels import (
    device_name,
    framework_of,
    names,
    threads_of,
    title_of,
    workload_labels,
)
from benchmarker.analysis.charts.quantities import Row, Unit, Value, counts, runs_of, series, value_of
from benchmarker.analysis.charts.selection import few_series, gather, limit_workloads, networks
from benchmarker.analysis.text.units import count
from benchmarker.api.chart import Axis, Chart, Mark, Panel, Series
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at

_BOUND = (
    "Bytes as the graph counts them, each operand once per operator: fusion and caches may lift a point above the "
    "slanted roof."
)
_NO_PEAKS = (
    "No roofs: the machine's peaks are not known, 'benchmarker calibrate' measures them for later runs."
)
_ROOF_COLOURS = (7, 4, 6)
_MARGIN = 2.0
_CLOSE = 0.015
"""Of the breadth of the picture."""
_Roof = tuple[float, float]


def chart(records: Sequence[Record]) -> Chart:
    """Return a point for each problem and framework, and a roof for each calibrated device.

    Parameters
    ----------
    records : sequence of dict
        Any; those of problems without products have no place here.

    Raises
    ------
    UsageError
        If no run of a problem with convolutions, matrix or recurrent products ended well.
    """
    needs = "runs that ended well, of problems with convolutions, matrix or recurrent products"
    gathered = limit_workloads(
        few_series(networks(gather(records, needs, _has_products, "of problems without products")))
    )
    cells = gathered.cells
    work = workload_labels(cells)
    rows = [_row(cell, name, of) for cell, name, of in zip(cells, names(cells, work), work)]
    peaks = _peaks(cells)
    unit = counts([r.value.value for r in rows] + [flops for flops, _ in peaks.values()], "FLOP/s")
    x = Axis("arithmetic intensity", "FLOP/byte", scale="log")
    y = Axis("achieved rate", unit.name, scale="log")
    lowest, highest = _ends(rows, peaks.values())
    roofs = [
        _roof(name, roof, (lowest, highest), unit, colour)
        for (name, roof), colour in zip(peaks.items(), _ROOF_COLOURS * len(peaks))
    ]
    return Chart(
        kind="roofline",
        title=title_of("Roofline", cells),
        caption=caption(gathered, _roofs_note(peaks), intervals(cells)),
        panels=(
            Panel(
                x,
                y,
                series=(*series(rows, "points", unit), *roofs),
                marks=_marks({of: float(row.place) for of, row in zip(work, rows)}, highest / lowest),
            ),
        ),
    )


def _roofs_note(peaks: Mapping[str, _Roof]) -> str:
    if not peaks:
        return _NO_PEAKS
    return f"Measured peaks: {'; '.join(_rates(*peak) for peak in peaks.items())}. {_BOUND}"


def _rates(where: str, roof: _Roof) -> str:
    return f"{where} {count(roof[0], 'FLOP/s')} and {count(roof[1], 'B/s')}"


def _has_products(record: Record) -> bool:
    problem = record["problem"]
    return bool(problem.get("flops_per_step") and problem.get("bytes_per_step"))


def _row(cell: Cell, name: str, work: str) -> Row:
    problem = cell.first["problem"]
    flops = problem["flops_per_step"]
    step = value_of(cell, "step")
    rate = Value(flops / step.value, *(flops / end if end else None for end in (step.high, step.low)))
    return Row(name, framework_of(cell), flops / problem["bytes_per_step"], rate, work, runs_of(cell))


def _peaks(cells: Sequence[Cell]) -> dict[str, _Roof]:
    """Return FLOP/s and bytes/s of each device, number of threads and precision, as measured last."""
    known = [record for cell in cells for record in cell.well if value_at(record, "peaks")]
    found: dict[str, _Roof] = {}
    for record in sorted(known, key=lambda record: str(record["peaks"]["measured_at"])):
        peaks = record["peaks"]
        roof = (peaks["flops_per_second"], peaks["bytes_per_second"])
        if min(roof) > 0:
            found[_where(record)] = roof
    return found


def _where(record: Record) -> str:
    return f"{threads_of(record) or device_name(record)}, {record['precision']}"


def _ends(rows: Sequence[Row], roofs: Iterable[_Roof]) -> tuple[float, float]:
    """Return from where to where roofs are drawn: around all points and all ridges."""
    places = [float(row.place) for row in rows] + [flops / moved for flops, moved in roofs]
    return min(places) / _MARGIN, max(places) * _MARGIN


def _marks(places: Mapping[str, float], breadth: float) -> tuple[Mark, ...]:
    """Return a line for each problem, or one for several that are too close to have names of their own."""
    groups: list[list[tuple[str, float]]] = []
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        if groups and place / groups[-1][0][1] < breadth**_CLOSE:
            groups[-1].append((name, place))
        else:
            groups.append([(name, place)])
    return tuple(Mark(_together([name for name, _ in group]), x=group[0][1]) for group in groups)


def _together(names: Sequence[str]) -> str:
    return "; ".join(names) if len(names) < 3 else f"{names[0]}; and {len(names) - 1} more"


def _roof(where: str, roof: _Roof, ends: tuple[float, float], unit: Unit, colour: int) -> Series:
    flops, moved = roof
    places = (ends[0], flops / moved, ends[1])
    heights = tuple(min(flops, moved * place) / unit.size for place in places)
    text = _rates(where, roof)
    return Series(f"peak, {where}", "line", places, heights, texts=(text,) * 3, colour=colour, dashed=True)
