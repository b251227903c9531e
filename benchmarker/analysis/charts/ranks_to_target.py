"""What ranks and schemes mean for a training as a whole: steps and seconds to the target against ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.quantities import Row, Unit, Value, plain, series, times
from benchmarker.analysis.charts.rank_runs import emulation, machine, scheme_colours
from benchmarker.analysis.charts.selection import Selection, gather, keep
from benchmarker.analysis.charts.trainings import Trainings, is_training
from benchmarker.analysis.comparison.censored import Time, median_interval, median_time
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.comparison.trainings import by_recipe
from benchmarker.analysis.text.factors import framework_label, trainer_label
from benchmarker.analysis.text.ranks import network_name
from benchmarker.analysis.text.trainings import disturbed_notes
from benchmarker.api.chart import Axis, Chart, Panel
from benchmarker.errors import UsageError, plural
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, value_at

_NEEDS = "runs of a recipe by several ranks that ended well ('benchmarker train --ranks')"
_HOW = "Medians over seeds; intervals: 95 %, from the sign test, which needs six seeds."
_MISSED = "No point where half of the runs or more missed the target."
_ONE = "One rank belongs to every scheme of its framework."


@dataclass(frozen=True)
class _Place:
    """The trainings of one line at one number of ranks."""

    line: str
    framework: str
    ranks: int
    group: TrainingGroup


def chart(records: Sequence[Record]) -> Chart:
    """Return steps and seconds to the target against ranks, a line for each framework and scheme.

    Parameters
    ----------
    records : sequence of dict
        Any; of several recipes the one with the most trainings by several ranks is shown.

    Raises
    ------
    UsageError
        If there is no training by a recipe on several ranks.
    """
    found = gather(records, _NEEDS, is_training, "of no recipe", timed=False)
    recipes = by_recipe(found.records)
    chosen = max(recipes, key=lambda one: sum(map(_has_ranks, one)), default=[])
    if not any(map(_has_ranks, chosen)):
        raise UsageError(
            f"such a picture needs {_NEEDS}, and none of {plural(len(records), 'record')} has that"
        )
    places = _places(chosen)
    shown = {id(record) for place in places for record in place.group.records}
    selection = keep(
        found, lambda cell: all(id(record) in shown for record in cell.records), "by other recipes"
    )
    steps = [_row(place, place.group.steps) for place in places]
    seconds = [_row(place, place.group.seconds) for place in places]
    if not any(steps):
        raise UsageError(
            f"such a picture needs {_NEEDS} at their target, and none of {plural(len(records), 'record')} is"
        )
    trainings = Trainings(selection, tuple(place.group for place in places))
    return Chart(
        kind="ranks_to_target",
        title=f"To the target of {trainings.recipe} on several ranks, {trainings.seeds} each",
        caption=caption(
            selection,
            f"Target: {trainings.target}. Seconds: first step, steps and loading.",
            _HOW,
            _ONE if any(place.ranks == 1 for place in places) else "",
            _MISSED if None in (*steps, *seconds) else "",
            *disturbed_notes(list({id(place.group): place.group for place in places}.values())),
            _emulation(selection),
        ),
        panels=(
            _panel("steps to the target", steps, lambda values: plain("")),
            _panel("time to the target", seconds, times),
        ),
    )


def _emulation(selection: Selection) -> str:
    return emulation(selection.cells) or "Ranks share the cores and the memory of one machine."


def _has_ranks(record: Record) -> bool:
    return bool(record.get("distributed"))


def _places(records: Sequence[Record]) -> list[_Place]:
    """Return the trainings by line and ranks; those of one rank are at the beginning of each of their lines."""
    groups: dict[tuple[str, str, int], list[Record]] = {}
    # One rank on a machine that has no other runs begins no line.
    machines = {machine(record) for record in records if _has_ranks(record)}
    several = len(machines) > 1
    for record in records:
        if machine(record) not in machines:
            continue
        who = f"{framework_label(record)}, {machine(record)}" if several else framework_label(record)
        groups.setdefault((who, _how(record), _ranks(record)), []).append(record)
    ways: dict[str, list[str]] = {}
    for who, how, _ in groups:
        if how:
            ways.setdefault(who, []).append(how)
    found = []
    for (who, how, ranks), own in sorted(groups.items(), key=lambda item: item[0][2]):
        group = TrainingGroup(trainer_label(own[0]), tuple(own))
        for way in dict.fromkeys([how] if how else ways.get(who, ())):
            found.append(_Place(f"{who}, {way}", str(own[0]["framework"]["name"]), ranks, group))
    return found


def _ranks(record: Record) -> int:
    return int(value_at(record, "distributed.ranks") or 1)


def _how(record: Record) -> str:
    """Return what ranks exchange, and by what; nothing of a single process."""
    if not _has_ranks(record):
        return ""
    network = network_name(record)
    emulated = f", {network}" if network.startswith("emulated") else ""
    found = record["distributed"]
    return f"{found['scheme']} ({found['exchange']}){emulated}"


def _row(place: _Place, found: Sequence[Time]) -> Row | None:
    middle = median_time(found) if found else math.inf
    if not math.isfinite(middle):
        return None
    ends = [end if math.isfinite(end) else None for end in median_interval(found) or (math.inf, math.inf)]
    text = f"{plural(place.ranks, 'rank')}, {plural(len(found), 'seed')}"
    value = Value(middle, *ends) if None not in ends else Value(middle)
    return Row(place.line, place.framework, place.ranks, value, text)


def _panel(label: str, rows: Sequence[Row | None], unit_of: Callable[[Sequence[float]], Unit]) -> Panel:
    known = [row for row in rows if row is not None]
    unit = unit_of([row.value.value for row in known])
    lines = {row.name: row.framework for row in known}
    alone = len(set(lines.values())) == 1
    look = scheme_colours(lines) if alone else dict(zip(lines, colours(list(lines.values()))))
    return Panel(
        Axis("ranks", "", scale="log2"),
        Axis(label, unit.name, zero=True),
        series=series(known, "line", unit, look),
    )
