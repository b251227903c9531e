"""How a training learns: loss and accuracy, against steps and against time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarker.plots.caption import caption
from benchmarker.plots.chart import Axis, Chart, Panel, Series
from benchmarker.plots.gathering import Record, gather, largest_group
from benchmarker.plots.naming import framework_of, names, work_in_common
from benchmarker.plots.palette import colours
from benchmarker.plots.scaling import times
from benchmarker.report.asked import asked, value_at
from benchmarker.report.cells import Cell

_STEPS = "training steps, warm-up included"
_TIME = "time of timed steps"
_DRAWN = "Inputs and labels are drawn by the seed."


@dataclass(frozen=True)
class _Line:
    """One line before it is drawn: values by steps and by seconds."""

    name: str
    framework: str
    steps: tuple[float, ...]
    seconds: tuple[float, ...]
    values: tuple[float | None, ...]


def chart(records: Sequence[Record], *, log: bool = False) -> Chart:
    """Return loss curves and accuracies of the problem with the most lengths of training.

    The loss is that of the longest training; each accuracy is that of a training of its own.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems are left out.
    log : bool
        Whether the loss has a logarithmic axis.

    Raises
    ------
    UsageError
        If no training that ended well has losses or an accuracy.
    """
    trained = gather(
        records, "trainings that ended well, with losses or an accuracy", _learned, "without losses"
    )
    gathered = largest_group(trained, lambda cell: cell.work, _trained_steps, "of other problems or settings")
    cells = gathered.cells
    labels = names(cells, [_asked_steps(cell) for cell in cells])
    named: dict[str, list[Cell]] = {}
    for cell, name in zip(cells, labels):
        named.setdefault(name, []).append(cell)
    losses = [line for name, group in named.items() if (line := _loss(name, group))]
    accuracies = [line for name, group in named.items() if (line := _accuracy(name, group))]
    loss = Axis("loss of a mini-batch", "", scale="log" if log else "linear", zero=not log)
    accuracy = Axis("accuracy on the training data", "%")
    data = value_at(cells[0].first, "inputs.data.name")
    return Chart(
        kind="learning",
        title=f"Training of {cells[0].first['problem']['name']}"
        f"{f' on {data}' if data else ''}: {work_in_common(cells)}",
        caption=caption(gathered, _note(losses, accuracies), "" if data else _DRAWN),
        panels=(*_panels(losses, loss, "line"), *_panels(accuracies, accuracy, "line")),
    )


def _note(losses: Sequence[_Line], accuracies: Sequence[_Line]) -> str:
    said = ["Loss: of one mini-batch, in one process of the longest training."] if losses else []
    if accuracies:
        said.append("Accuracy: each point is a training of its own, the mean of its processes.")
    return " ".join(said)


def _panels(lines: Sequence[_Line], y: Axis, kind: str) -> tuple[Panel, ...]:
    if not lines:
        return ()
    colour = colours([line.framework for line in lines])
    unit = times([max(line.seconds) for line in lines])

    def panel(x: Axis, places: Callable[[_Line], tuple[float, ...]]) -> Panel:
        series = tuple(
            Series(line.name, kind, places(line), line.values, colour=index)
            for line, index in zip(lines, colour)
        )
        return Panel(x, y, series=series)

    by_time = panel(
        Axis(_TIME, unit.name, zero=True), lambda line: tuple(x / unit.size for x in line.seconds)
    )
    return (panel(Axis(_STEPS, "", zero=True), lambda line: line.steps), by_time)


def _learned(record: Record) -> bool:
    return bool(value_at(record, "learning.steps")) or _has_accuracy(record)


def _has_accuracy(record: Record) -> bool:
    return record["mode"] == "training" and value_at(record, "metrics.accuracy") is not None


def _before(record: Record) -> int:
    """Return how many steps were trained before the timed ones: the first, and those of the warm-up."""
    return 1 + int(record["timing"]["warmup_steps"] or 0)


def _timed_steps(record: Record) -> int:
    return int(value_at(record, "timing.steps") or record["timing"]["step_seconds"]["count"])


def _trained_steps(cell: Cell) -> int:
    return _timed_steps(cell.first)


def _asked_steps(cell: Cell) -> str:
    return str(asked(cell.first).get("steps"))


def _loss(name: str, cells: Sequence[Cell]) -> _Line | None:
    """Return the loss curve of the longest training that has one."""
    known = [record for cell in cells for record in cell.well if value_at(record, "learning.steps")]
    if not known:
        return None
    record = max(known, key=_timed_steps)
    found, before = record["learning"], _before(record)
    return _Line(
        name,
        record["framework"]["name"],
        tuple(float(before + step) for step in found["steps"]),
        tuple(found["seconds"]),
        tuple(found["losses"]),
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
        tuple(_mean([record["timing"]["total_seconds"] for record in group]) for group in groups),
        tuple(100 * _mean([record["metrics"]["accuracy"] for record in group]) for group in groups),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
