"""How a training learns: loss and accuracy, against steps and against time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import framework_of, names, title_of
from benchmarker.analysis.charts.palette import colours
from benchmarker.analysis.charts.quantities import times
from benchmarker.analysis.charts.selection import Selection, few_series, gather, keep, largest_group
from benchmarker.analysis.charts.trainings import is_training
from benchmarker.api.chart import Axis, Chart, Panel, Series
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, specification_of, value_at, work_name

_STEPS = "training steps, warm-up included"
_TIME = "time spent in steps, warm-up included"
_DRAWN = "Inputs and labels are drawn by the seed."


@dataclass(frozen=True)
class _Line:
    """One line before it is drawn: values by steps and by seconds."""

    name: str
    framework: str
    steps: tuple[float, ...]
    seconds: tuple[float, ...]
    values: tuple[float | None, ...]
    processes: tuple[int, ...]
    """Of the training of each value; of a loss curve one number, that of the training it is chosen from."""


def chart(records: Sequence[Record], *, log: bool = False) -> Chart:
    """Return loss curves and accuracies of the problem with the most lengths of training.

    The loss is that of the longest training; each accuracy is that of a training of its own.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems are left out, and trainings by a recipe, whose accuracy is that of another split.
    log : bool
        Whether the loss has a logarithmic axis.

    Raises
    ------
    UsageError
        If no training that ended well has losses or an accuracy.
    """
    trained = gather(
        records,
        "trainings of a stated length that ended well, with losses or an accuracy",
        _learned,
        "without losses, or by a recipe",
        timed=False,
    )
    others = "of other problems or settings"
    of_one = largest_group(_with_data(trained), lambda cell: cell.work, _trained_steps, others)
    gathered = few_series(of_one, _labels, places=("steps",))
    cells, labels = gathered.cells, _labels(gathered.cells)
    named: dict[str, list[Cell]] = {}
    for cell, name in zip(cells, labels):
        named.setdefault(name, []).append(cell)
    losses = [line for name, group in named.items() if (line := _loss(name, group))]
    accuracies = [line for name, group in named.items() if (line := _accuracy(name, group))]
    loss = Axis("loss of a mini-batch", "", scale="log" if log else "linear", zero=not log)
    accuracy = Axis("accuracy on the training data", "%")
    problem, data = work_name(cells[0].first), value_at(cells[0].first, "inputs.data.name")
    return Chart(
        kind="learning",
        title=title_of(f"Training of {problem}{f' on {data}' if data else ''}", cells),
        caption=caption(gathered, _note(losses, accuracies), "" if data else _DRAWN),
        panels=(*_panels(losses, loss), *_panels(accuracies, accuracy)),
    )


def _note(losses: Sequence[_Line], accuracies: Sequence[_Line]) -> str:
    said = []
    if losses:
        of = _counted([line.processes[0] for line in losses])
        said.append(f"Loss: of one mini-batch, in the first of n = {of} processes of the longest training.")
    if accuracies:
        of = _counted([count for line in accuracies for count in line.processes])
        said.append(f"Accuracy: each point is a training of its own, the mean of n = {of} processes.")
        if any(list(line.seconds) != sorted(line.seconds) for line in accuracies):
            said.append("They are not joined where a longer training took less time.")
    return " ".join(said)


def _counted(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _panels(lines: Sequence[_Line], y: Axis) -> tuple[Panel, ...]:
    if not lines:
        return ()
    colour = colours([line.framework for line in lines])
    unit = times([max(line.seconds) for line in lines])

    def panel(x: Axis, places: Callable[[_Line], tuple[float, ...]]) -> Panel:
        series = [_series(line, places(line), index) for line, index in zip(lines, colour)]
        return Panel(x, y, series=tuple(series))

    by_time = panel(
        Axis(_TIME, unit.name, zero=True), lambda line: tuple(x / unit.size for x in line.seconds)
    )
    return (panel(Axis(_STEPS, "", zero=True), lambda line: line.steps), by_time)


def _series(line: _Line, places: Sequence[float], colour: int) -> Series:
    """Return a line, or its points alone where a longer training took less time than a shorter one."""
    ordered = list(places) == sorted(places)
    points = sorted(zip(places, line.values), key=lambda point: point[0])
    x, y = zip(*points)
    return Series(line.name, "line" if ordered else "points", x, y, colour=colour)


def _with_data(gathered: Selection) -> Selection:
    """Keep problems that learnt real data, as their accuracy tells, where there are any."""
    real = {cell.work for cell in gathered.cells if _learnt_data(cell)}
    if not real:
        return gathered
    return keep(gathered, lambda cell: cell.work in real, "on labels drawn by the seed")


def _learnt_data(cell: Cell) -> bool:
    return bool(value_at(cell.first, "inputs.data.name")) and any(map(_has_accuracy, cell.well))


def _labels(cells: Sequence[Cell]) -> tuple[str, ...]:
    return names(cells, [_requested_steps(cell) for cell in cells], timed=False)


def _learned(record: Record) -> bool:
    return not is_training(record) and (bool(value_at(record, "learning.steps")) or _has_accuracy(record))


def _has_accuracy(record: Record) -> bool:
    return record["mode"] == "training" and value_at(record, "metrics.accuracy") is not None


def _before(record: Record) -> int:
    """Return how many steps were trained before the timed ones: the first, and those of the warm-up."""
    return 1 + int(record["timing"]["warmup_steps"] or 0)


def _seconds_before(record: Record) -> float:
    """Return the seconds of the steps before the timed ones, as far as they are known."""
    timing = record["timing"]
    warmup = timing.get("warmup_samples_seconds")
    spent = math.fsum(warmup) if warmup else timing.get("warmup_seconds") or 0.0
    return float((timing.get("compile_seconds") or 0.0) + spent)


def _timed_steps(record: Record) -> int:
    return int(value_at(record, "timing.steps") or record["timing"]["step_seconds"]["count"])


def _trained_steps(cell: Cell) -> int:
    return _timed_steps(cell.first)


def _requested_steps(cell: Cell) -> str:
    return str(specification_of(cell.first).get("steps"))


def _loss(name: str, cells: Sequence[Cell]) -> _Line | None:
    """Return the loss curve of the longest training that has one."""
    known = [[record for record in cell.well if value_at(record, "learning.steps")] for cell in cells]
    groups = [group for group in known if group]
    if not groups:
        return None
    longest = max(groups, key=lambda group: _timed_steps(group[0]))
    record = longest[0]
    found, before = record["learning"], _before(record)
    return _Line(
        name,
        record["framework"]["name"],
        tuple(float(before + step) for step in found["steps"]),
        tuple(_seconds_before(record) + seconds for seconds in found["seconds"]),
        tuple(found["losses"]),
        (len(longest),),
    )


def _accuracy(name: str, cells: Sequence[Cell]) -> _Line | None:
    """Return the accuracies of trainings by their lengths."""
    known = [[record for record in cell.well if _has_accuracy(record)] for cell in cells]
    groups = sorted((group for group in known if group), key=lambda group: _timed_steps(group[0]))
    if not groups:
        return None
    return _Line(
        name,
        framework_of(cells[0]),
        tuple(float(_before(group[0]) + _timed_steps(group[0])) for group in groups),
        tuple(
            _mean([_seconds_before(record) + record["timing"]["total_seconds"] for record in group])
            for group in groups
        ),
        tuple(100 * _mean([record["metrics"]["accuracy"] for record in group]) for group in groups),
        tuple(map(len, groups)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
