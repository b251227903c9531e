"""How long trainings by a recipe take to their target: the share of runs that have reached it by then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.quantities import are_far_apart, times
from benchmarker.analysis.charts.trainings import Trainings, coinciding, gather_trainings
from benchmarker.analysis.comparison.censored import Time
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.text.trainings import disturbed_notes
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.records.lookup import Record

_CENSORED = "A hollow point marks where a run ended without: it counts as one that takes longer."


def chart(records: Sequence[Record], *, log: bool | None = None) -> Chart:
    """Return the empirical distributions of the recipe with the most trainings.

    Parameters
    ----------
    records : sequence of dict
        Any; what is no training by that recipe is left out.
    log : bool, optional
        Whether steps and times have logarithmic axes; the values of each decide if not given.

    Raises
    ------
    UsageError
        If there is no training by a recipe.
    """
    trainings = gather_trainings(records)
    every = [time.value for group in trainings.groups for time in group.seconds]
    over_time = _axis("time to the target", every, log)
    unit = times(every, log=over_time.scale == "log")
    steps = [time.value for group in trainings.groups for time in group.steps]
    missed = any(not time.reached for group in trainings.groups for time in group.steps)
    return Chart(
        kind="time_to_target",
        title=f"To the target of {trainings.recipe}, {trainings.seeds} each",
        caption=caption(
            trainings.selection,
            f"Target: {trainings.target}. Seconds: first step, steps and loading.",
            _CENSORED if missed else "",
            *disturbed_notes(trainings.groups),
            coinciding(
                trainings.labels, [tuple(sorted(group.by_seed.items())) for group in trainings.groups]
            ),
        ),
        panels=(
            _panel(
                trainings,
                _axis("steps to the target", steps, log),
                lambda group: group.steps,
            ),
            _panel(
                trainings,
                replace(over_time, unit=unit.name),
                lambda group: [Time(time.value / unit.size, time.reached) for time in group.seconds],
            ),
        ),
    )


def _axis(label: str, values: Sequence[float], log: bool | None) -> Axis:
    logarithmic = are_far_apart(values) if log is None else log
    return Axis(label, scale="log" if logarithmic else "linear", zero=not logarithmic)


def _panel(trainings: Trainings, axis: Axis, times_of: Callable[[TrainingGroup], Sequence[Time]]) -> Panel:
    look = zip(trainings.labels, trainings.groups, colours(trainings.frameworks))
    series = [one for name, group, colour in look for one in _series(name, times_of(group), colour)]
    return Panel(
        axis, Axis("share of runs that have reached it", "%", zero=True, most=100.0), series=tuple(series)
    )


def _series(name: str, found: Sequence[Time], colour: int) -> list[Series]:
    """Return the steps of a distribution, and the ends of runs that are not in it."""
    reached = sorted(time.value for time in found if time.reached)
    missed = sorted(time.value for time in found if not time.reached)
    share, end = 100 / len(found), max(time.value for time in found)
    shares = [share * (index + 1) for index in range(len(reached))]
    drawn = []
    if reached:
        drawn.append(Series(name, "steps", (reached[0], *reached), (0.0, *shares), colour=colour))
    if reached and end > reached[-1]:
        last = (shares[-1], shares[-1])
        drawn.append(Series("", "steps", (reached[-1], end), last, colour=colour, marked=False))
    if missed:
        at = tuple(share * sum(value <= place for value in reached) for place in missed)
        called = "" if reached else name
        drawn.append(Series(called, "points", tuple(missed), at, colour=colour, hollow=True))
    return drawn
