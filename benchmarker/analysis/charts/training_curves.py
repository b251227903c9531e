"""How trainings by a recipe get to their target: the evaluated quality over steps and over time, over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.quantities import are_far_apart, times
from benchmarker.analysis.charts.trainings import coinciding, gather_trainings
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.api.chart import Axis, Chart, Mark, Panel, Series
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record

_BAND = "Lines: the median over seeds; bands: all of them, as far as half of the seeds had not ended."

_BEFORE = "Over time without the evaluation before the first step."


@dataclass(frozen=True)
class _Point:
    """What several seeds had come to after as many steps."""

    step: int
    seconds: float
    values: tuple[float, ...]


def chart(records: Sequence[Record], *, log: bool | None = None) -> Chart:
    """Return the curves of the recipe with the most trainings.

    Parameters
    ----------
    records : sequence of dict
        Any; what is no training by that recipe is left out.
    log : bool, optional
        Whether steps and time have logarithmic axes, without the evaluation before the first step; if not given,
        time has one where frameworks are far apart.

    Raises
    ------
    UsageError
        If there is no training by a recipe.
    """
    trainings = gather_trainings(records)
    target = trainings.groups[0].records[0]["training"]["target"]
    of_accuracy = target["metric"] == "accuracy"
    quality = (
        Axis(f"accuracy on the {target['split']} split", "%")
        if of_accuracy
        else Axis(f"loss on the {target['split']} split", "")
    )
    lines = [_line(group, of_accuracy) for group in trainings.groups]
    lasts = [line[-1].seconds for line in lines if line]
    far = are_far_apart(lasts) if log is None else log
    unit = times(lasts, log=far)
    mark = Mark("target", y=100 * target["value"] if of_accuracy else target["value"])
    look = list(zip(trainings.labels, lines, colours(trainings.frameworks)))

    def panel(label: str, unit: str, place: Callable[[_Point], float], *, logarithmic: bool) -> Panel:
        axis = Axis(label, unit, scale="log" if logarithmic else "linear", zero=not logarithmic)
        drawn = [
            (name, [p for p in line if p.step or not logarithmic], colour) for name, line, colour in look
        ]
        series = tuple(_series(name, line, place, colour) for name, line, colour in drawn if line)
        return Panel(axis, quality, series=series, marks=(mark,))

    return Chart(
        kind="training_curves",
        title=f"Training by {trainings.recipe}, {trainings.seeds} each",
        caption=caption(
            trainings.selection,
            f"Target: {trainings.target}.",
            _BAND,
            _BEFORE if far else "",
            coinciding(trainings.labels, [_over_steps(line) for line in lines]),
        ),
        panels=(
            panel("steps", "", lambda point: float(point.step), logarithmic=bool(log)),
            panel(
                "time in steps and loading",
                unit.name,
                lambda point: point.seconds / unit.size,
                logarithmic=far,
            ),
        ),
    )


def _over_steps(line: Sequence[_Point]) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """Return what the panel of steps shows of a line."""
    return tuple((point.step, point.values) for point in line)


def _line(group: TrainingGroup, of_accuracy: bool) -> list[_Point]:
    """Return what at least half of a framework's seeds had come to, by steps."""
    found: dict[int, list[tuple[float, float]]] = {}
    for record in group.well:
        for step, seconds, value in _evaluations(record, of_accuracy):
            if value is not None:
                found.setdefault(step, []).append((seconds, value))
    least = len(group.well) / 2
    return [
        _Point(step, median(seconds for seconds, _ in at), tuple(value for _, value in at))
        for step, at in sorted(found.items())
        if len(at) >= least
    ]


def _evaluations(record: Record, of_accuracy: bool) -> list[tuple[int, float, float | None]]:
    """Return steps, seconds in the first step, in steps and in loading, and quality of each evaluation."""
    training = record["training"]
    curve, total, first = training["curve"], training["evaluated_samples"], training["first_step_seconds"]
    quality = [100 * n / total for n in curve["correct"]] if of_accuracy else curve["evaluation_loss"]
    spent = [
        train + load + (first if step else 0.0)
        for step, train, load in zip(curve["step"], curve["training_seconds"], curve["loading_seconds"])
    ]
    return list(zip(curve["step"], spent, quality))


def _series(name: str, line: Sequence[_Point], place: Callable[[_Point], float], colour: int) -> Series:
    several = any(len(point.values) > 1 for point in line)
    return Series(
        name,
        "line",
        tuple(map(place, line)),
        tuple(median(point.values) for point in line),
        low=tuple(min(point.values) for point in line) if several else (),
        high=tuple(max(point.values) for point in line) if several else (),
        colour=colour,
        band=several,
    )
