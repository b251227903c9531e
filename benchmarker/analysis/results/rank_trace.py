"""A run of several ranks as a trace that Perfetto and Chrome show: a track a rank, in the Trace Event Format.

Records have the timed steps of the run, which the trace shows one after the other. Of some further steps, made in their
parts, they have when each part began on each rank; where they have not, the medians of the parts are shown as one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarker.analysis.charts.samples import block_steps, steady_start
from benchmarker.analysis.text.factors import framework_label
from benchmarker.errors import StoreError, UsageError, plural
from benchmarker.files import staged
from benchmarker.records.lookup import Record, value_at, work_name
from benchmarker.worker.measurement.trace import compressed_trace, name_event, span_event

_RUN, _STEP = (1, 0), 2
"""The track of the timed part, and the process of a step in its parts, a track a rank."""
_ALONE = "compute"
"""The part that all ranks make at once without an exchange; where it is the only one, nothing tells others apart."""
_AS_IT_WAS = "steps in their parts, after the timed part, each part as it happened"
_MEDIANS = (
    "a step in its parts, medians, laid end to end: when each began was not recorded, and that ranks begin together "
    "is assumed"
)


def write_rank_trace(record: Record, target: Path, *, force: bool = False) -> None:
    """Write the trace of a run, gzip-compressed.

    Parameters
    ----------
    record : dict
        A valid record.
    target : Path
        The file.
    force : bool
        Whether to replace a file.

    Raises
    ------
    UsageError
        If the record is of one rank or its ranks told nothing, or there is such a file.
    StoreError
        If it cannot be written.
    """
    events = rank_events(record)
    if target.is_dir() or (target.exists() and not force):
        raise UsageError(f"'{target}' exists; name another file with --trace, or replace it with --force")
    try:
        with staged(target, replace=force) as stream:
            stream.write(compressed_trace(events))
    except OSError as error:
        raise StoreError(f"'{target}' could not be written ({error.strerror})") from None


def rank_events(record: Record) -> list[dict[str, Any]]:
    """Return the events of a trace: names of tracks first, then what is on them.

    Raises
    ------
    UsageError
        If the record is of one rank or its ranks told nothing.
    """
    found = record.get("distributed")
    if not found:
        raise UsageError("a trace of ranks needs a run of several, and this record is of one")
    members = [member for member in found["members"] if member["part_seconds"] or member["step_seconds"]]
    if not members:
        raise UsageError(
            f"a trace of ranks needs a run whose ranks reported their times, got '{record['status']}'"
        )
    who = f"{work_name(record)} by {framework_label(record)}, {found['scheme'] or 'a collective'} ({found['exchange']})"
    happened = any(member.get("part_spans") for member in members)
    return [*_run(record, who), *(_steps if happened else _step)(members, who)]


def _run(record: Record, who: str) -> Iterator[dict[str, Any]]:
    """Yield the timed part: its samples as they followed each other, each the slowest rank's."""
    samples = record["timing"]["samples_seconds"] or ()
    yield name_event("process_name", _RUN, f"timed part: {who}")
    yield name_event("thread_name", _RUN, "steps, of the slowest rank")
    block, steady = block_steps(record), steady_start(record)
    steps = value_at(record, "timing.steps") or len(samples) * block
    counts = [min(block, steps - block * number) for number in range(len(samples))]
    ends = list(accumulate(seconds * count for seconds, count in zip(samples, counts)))
    for number, (seconds, count, end) in enumerate(zip(samples, counts, ends)):
        first = number * block
        name = f"step {first}" if count == 1 else f"steps {first} to {first + count - 1}"
        arguments = {"steps": count, "seconds_per_step": seconds, "steady": number >= steady}
        yield span_event(name, "step", _RUN, end - seconds * count, seconds * count, arguments)


def _steps(members: list[Mapping[str, Any]], who: str) -> Iterator[dict[str, Any]]:
    """Yield steps in their parts when they were made, a track a rank."""
    yield name_event("process_name", (_STEP, 0), f"{_AS_IT_WAS}: {who}")
    for member in members:
        track = (_STEP, int(member["rank"]) + 1)
        yield name_event("thread_name", track, _title(member))
        for step, parts in groupby(member["part_spans"], key=itemgetter("step")):
            spans = [(part["part"], part["began_seconds"], part["seconds"]) for part in parts]
            began = spans[0][1]
            yield span_event(f"step {step}", "step", track, began, spans[-1][1] + spans[-1][2] - began, {})
            for name, start, seconds in spans:
                yield span_event(name, "part", track, start, seconds, {})


def _step(members: list[Mapping[str, Any]], who: str) -> Iterator[dict[str, Any]]:
    """Yield a step in its parts by their medians, a track a rank."""
    yield name_event("process_name", (_STEP, 0), f"{_MEDIANS}: {who}")
    for member in members:
        track = (_STEP, int(member["rank"]) + 1)
        yield name_event("thread_name", track, _title(member))
        parts = {name: seconds for name, seconds in member["part_seconds"].items() if name != _ALONE}
        alone = member["part_seconds"].get(_ALONE)
        whole = sum(parts.values()) or member["step_seconds"] or alone or 0.0
        arguments = {
            "median_timed_step_seconds": member["step_seconds"],
            "compute_without_exchange_seconds": alone,
        }
        yield span_event("step", "step", track, 0.0, whole, arguments)
        begun = 0.0
        for name, seconds in parts.items():
            yield span_event(name, "part", track, begun, seconds, {"median_seconds": seconds})
            begun += seconds
        if not parts and alone:
            arguments = {
                "median_seconds": alone,
                "note": "measured separately; exchange and update are not distinguished",
            }
            yield span_event("compute, without an exchange", "part", track, 0.0, min(alone, whole), arguments)


def _title(member: Mapping[str, Any]) -> str:
    cpus = member["cpus"]
    on = f", {'CPU' if len(cpus) == 1 else plural(len(cpus), 'CPU') + ':'} {', '.join(map(str, cpus))}"
    return f"rank {member['rank']}{on if cpus else ''}"
