"""What one rank does in a step, as a record and the other processes of the same number tell it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarker import registry
from benchmarker.analysis.charts.samples import block_steps, has_course, steady_samples
from benchmarker.analysis.reproduction.processes import sibling_processes, valid_record
from benchmarker.analysis.scaling.prediction import Workload
from benchmarker.analysis.scaling.readiness import backward_share, buckets_of
from benchmarker.analysis.scaling.scale import STRONG, Scaling
from benchmarker.analysis.scaling.slowest import StepTimes
from benchmarker.analysis.text.factors import framework_label
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.records.lookup import Record, value_at, work_name
from benchmarker.records.precision import CONTAMINATED

_ALIKE = (
    *("framework.full", "framework.options", "problem.name", "problem.parameters", "precision"),
    *("device.name", "execution.threads"),
)
"""What records of several batch sizes have in common."""


def scaling_of(paths: Sequence[Path], kind: str) -> tuple[str, Scaling]:
    """Return what was measured, in words, and the workloads of some records' numbers.

    Parameters
    ----------
    paths : sequence of Path
        Each a record of one rank, of other batch sizes.
    kind : {"weak", "strong"}
        Which scaling; weak takes one record.

    Raises
    ------
    UsageError
        On a record without timed steps of a training, or several that are not of one thing.
    """
    if kind != STRONG and len(paths) > 1:
        raise UsageError(f"weak scaling takes one record, got {len(paths)}; several are for --scaling=strong")
    numbers = [sibling_processes(_read(path), path) for path in paths]
    first = numbers[0][0]
    for path, number in zip(paths, numbers):
        for place in _ALIKE:
            if value_at(number[0], place) != value_at(first, place):
                raise UsageError(
                    f"records of one scaling must agree in {place}, and '{path}' has "
                    f"{value_at(number[0], place)}, the first {value_at(first, place)}"
                )
    workloads = {number[0]["batch_size"]: workload_of(number) for number in numbers}
    if len(workloads) < len(paths):
        raise UsageError(
            "strong scaling takes records of different batch sizes, and two of these have the same"
        )
    disturbed = any(
        value_at(record, "trust.grade") == CONTAMINATED for number in numbers for record in number
    )
    return f"{work_name(first)} by {framework_label(first)}", Scaling(kind, workloads, disturbed)


def _read(path: Path) -> Record:
    record = valid_record(path)
    if record["status"] != "ok" or not record["timing"]["step_seconds"]:
        raise UsageError(f"'{path}' has no timed steps: its run ended as '{record['status']}'")
    if not has_course(record):
        raise UsageError(f"'{path}' has the mean of its steps alone; several of their times are needed")
    return record


def workload_of(processes: Sequence[Record]) -> Workload:
    """Return the workload of one number.

    Parameters
    ----------
    processes : sequence of mapping
        Records of a training's timed steps, all of the same number; at least one.

    Raises
    ------
    UsageError
        If they are of no training, or of a problem that is not installed.
    """
    record = processes[0]
    name, mode = record["problem"]["name"], record["mode"]
    if mode != "training":
        raise UsageError(
            f"only training is predicted on several ranks, and this record of '{name}' is of {mode}"
        )
    graph = registry.problem(name).graph(record["batch_size"], **_parameters(record))
    cost = graph_cost(graph, training=True, precision=record["precision"])
    seconds = tuple(value for process in processes for value in steady_samples(process))
    times = StepTimes(seconds, max(map(block_steps, processes)))
    return Workload(times, buckets_of(cost), backward_share(cost, _measured_parts(record)))


def _parameters(record: Record) -> dict[str, object]:
    specification = record.get("specification") or {}
    return dict(specification.get("problem_parameters") or record["problem"]["parameters"])


def _measured_parts(record: Record) -> tuple[float, float] | None:
    """Return the seconds of the forward and the backward pass; None where they were not timed apart."""
    parts = (record["timing"]["breakdown"] or {}).get("parts") or {}
    found = [parts[name]["median_seconds"] for name in ("forward", "backward") if name in parts]
    return (found[0], found[1]) if len(found) == 2 and median(found) > 0 else None
