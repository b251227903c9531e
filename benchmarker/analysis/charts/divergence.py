"""How trainings leave the float64 reference's, over steps: followed and free-running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    worst,
)
from benchmarker.analysis.charts.labels import short
from benchmarker.analysis.charts.palette import LIGHT, colours
from benchmarker.analysis.charts.selection import MAX_SERIES
from benchmarker.analysis.charts.trainings import Trainings
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.records.lookup import Record

Lines = Mapping[str, Course]


def chart(records: Sequence[Record], *, norm: Norm = "l2", parameter: str | None = None) -> Chart:
    """Return the shares of the recipe with the most trainings, a line per parameter or per framework.

    Parameters
    ----------
    records : sequence of dict
        Any; what was not trained beside the reference is left out.
    norm : {"l2", "max"}
        Euclidean norm of a parameter's difference, or its largest element.
    parameter : str, optional
        The one that is shown of each framework; by default the largest of all of them at each step.

    Raises
    ------
    UsageError
        If nothing was trained beside the reference, or there is no such parameter.
    """
    trainings = gather_divergences(records)
    several = len(trainings.groups) > 1
    kinds: tuple[Kind, ...] = ("followed", "free")
    lines = {kind: _lines(trainings, kind, norm, parameter) for kind in kinds}
    names = _most(lines["free"], lines["followed"])
    left = len(lines["free"]) - len(names)
    places = colours(trainings.frameworks) if several else range(len(LIGHT) * 2)
    shown = {name: places[index] for index, name in enumerate(names)}
    of_each = f"of {parameter}" if parameter else "the largest of all parameters" if several else ""
    return Chart(
        kind="divergence",
        title=f"Distance from the float64 reference: {trainings.recipe}, {trainings.seeds} each",
        caption=caption(
            trainings.selection,
            EXPLAINED,
            f"Lines: {', '.join(filter(None, ('medians over seeds', of_each)))}.",
            f"{left} further parameters, which end closer to it, are not shown." if left else "",
        ),
        panels=tuple(_panel(kind, lines[kind], shown, norm) for kind in kinds),
    )


def _lines(trainings: Trainings, kind: Kind, norm: Norm, parameter: str | None) -> Lines:
    """Return the courses to draw, by the name of their line."""
    found = {label: courses(group, kind, norm) for label, group in zip(trainings.labels, trainings.groups)}
    if parameter is not None:
        known = tuple(dict.fromkeys(name for own in found.values() for name in own))
        if parameter not in known:
            raise UsageError(
                f"recipe '{trainings.recipe}' has no parameter '{parameter}'{did_you_mean(parameter, known)}"
            )
        return {label: own.get(parameter, {}) for label, own in found.items()}
    if len(found) > 1:
        return {label: worst(own) for label, own in found.items()}
    (only,) = found.values()
    return only


def _most(*lines: Lines) -> list[str]:
    """Return as many names as can be drawn, those whose lines end farthest away, in the order of all."""
    names = list(dict.fromkeys(name for some in lines for name in some))
    ends = {
        name: max((list(some[name].values())[-1] for some in lines if some.get(name)), default=0.0)
        for name in names
    }
    kept = set(sorted(names, key=lambda name: -ends[name])[:MAX_SERIES])
    return [name for name in names if name in kept]


def _panel(kind: Kind, lines: Lines, shown: Mapping[str, int], norm: Norm) -> Panel:
    series = tuple(
        Series(short(name), "line", tuple(lines[name]), tuple(lines[name].values()), colour=colour)
        for name, colour in shown.items()
        if lines.get(name)
    )
    share = Axis(f"{NORMS[norm]}, share {SHARES[kind]}", scale="log")
    return Panel(Axis("steps", zero=True), share, title=TITLES[kind], series=series)
