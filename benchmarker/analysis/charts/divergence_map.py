"""Where and when trainings leave the float64 reference's: parameters by steps, followed and free-running."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.divergences import (
    EXPLAINED,
    NORMS,
    SHARES,
    TITLES,
    Course,
    Kind,
    Norm,
    courses,
    gather_divergences,
)
from benchmarker.analysis.charts.labels import short
from benchmarker.analysis.charts.trainings import Trainings
from benchmarker.api.chart import Axis, Chart, Heat, Panel
from benchmarker.errors import plural
from benchmarker.records.lookup import Record

MAX_FRAMEWORKS = 6
MAX_PARAMETERS = 64
_Map = Mapping[str, Course]


def chart(records: Sequence[Record], *, norm: Norm = "l2") -> Chart:
    """Return a heat map for each framework and each way to compare, of the recipe with the most trainings.

    Parameters
    ----------
    records : sequence of dict
        Any; what was not trained beside the reference is left out.
    norm : {"l2", "max"}
        Euclidean norm of a parameter's difference, or its largest element.

    Raises
    ------
    UsageError
        If nothing was trained beside the reference.
    """
    trainings = gather_divergences(records)
    kinds: tuple[Kind, ...] = ("followed", "free")
    groups = trainings.groups[:MAX_FRAMEWORKS]
    maps = {(index, kind): courses(group, kind, norm) for index, group in enumerate(groups) for kind in kinds}
    limits = _limits(maps.values())
    shown = [
        _panel(maps[index, kind], kind, norm, limits, _title(trainings, index, kind))
        for kind in kinds
        for index in range(len(groups))
    ]
    return Chart(
        kind="divergence_map",
        title=f"Distance from the float64 reference, by parameter: {trainings.recipe}, {trainings.seeds} each",
        caption=caption(
            trainings.selection,
            EXPLAINED,
            "Medians over seeds.",
            *_left_out(trainings, max(map(len, maps.values()))),
        ),
        panels=tuple(shown),
    )


def _title(trainings: Trainings, index: int, kind: Kind) -> str:
    return f"{trainings.labels[index]}, {TITLES[kind]}" if len(trainings.groups) > 1 else TITLES[kind]


def _left_out(trainings: Trainings, parameters: int) -> Iterator[str]:
    """Say what there is no room for."""
    if len(trainings.groups) > MAX_FRAMEWORKS:
        yield f"Not shown: {', '.join(trainings.labels[MAX_FRAMEWORKS:])}."
    if parameters > MAX_PARAMETERS:
        yield f"Not shown: {plural(parameters - MAX_PARAMETERS, 'parameter')} after these."


def _limits(maps: Iterable[_Map]) -> tuple[float, float]:
    """Return the smallest and the largest power of ten of all maps, which share a scale."""
    found = [math.log10(share) for one in maps for course in one.values() for share in course.values()]
    return (math.floor(min(found)), math.ceil(max(found))) if found else (-1.0, 0.0)


def _panel(found: _Map, kind: Kind, norm: Norm, limits: tuple[float, float], title: str) -> Panel:
    names = list(found)[:MAX_PARAMETERS]
    steps = sorted({step for course in found.values() for step in course})
    rows, columns = tuple(map(short, names)), tuple(f"{step:,}" for step in steps)
    values = tuple(
        tuple(math.log10(found[name][step]) if step in found[name] else None for step in steps)
        for name in names
    )
    heat = Heat(
        rows,
        columns,
        values,
        tuple(("",) * len(columns) for _ in rows),
        f"{NORMS[norm]}, share {SHARES[kind]}, power of ten",
        limits=limits,
        fine=True,
    )
    return Panel(
        Axis("step", scale="category", categories=columns),
        Axis("parameter", scale="category", categories=rows),
        title=title,
        heat=heat,
    )
