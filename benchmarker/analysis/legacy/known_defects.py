"""What speaks against the numbers of the earlier tool: its defects are told, never corrected."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarker.analysis.legacy.reading import LegacyRun
from benchmarker.quick_dataclass import dataclass

_SAME = 1e-3
_ONE_EPOCH = ("opencv", "tflite")


@dataclass(frozen=True)
class KnownDefect:
    """Why a number cannot be trusted, as a reason of a record's ``trust``."""

    kind: str
    severity: str
    text: str
    value: float | None = None
    limit: float | None = None


def known_defects(run: LegacyRun) -> list[KnownDefect]:
    """Return the reasons against a run's number, the worst first; there is always one."""
    found = [*_wrong(run), *_doubtful(run)]
    return sorted(found, key=lambda doubt: doubt.severity != "contaminated")


def _wrong(run: LegacyRun) -> Iterator[KnownDefect]:
    """Yield what makes the number another one than it claims to be."""
    if run.framework.name in _ONE_EPOCH and run.epochs and run.epochs > 1:
        yield KnownDefect(
            "epochs",
            "contaminated",
            f"the earlier tool ran one epoch with {run.framework.name} and divided its time by {run.epochs}: "
            f"times are {run.epochs} times too small",
            run.epochs,
            1,
        )
    if run.gpu_count > 1:
        yield KnownDefect(
            "gpus",
            "contaminated",
            f"with {run.gpu_count} GPUs the earlier tool counted the mini-batches of one, but computed those "
            "of all: its samples per second are too few by that factor, and its training cannot work",
            run.gpu_count,
            1,
        )
    elif not _rate_agrees(run):
        yield KnownDefect(
            "rate",
            "contaminated",
            f"its file says {run.stated_rate:.6g} samples per second, its own steps and time another number",
            run.stated_rate,
        )
    if run.framework.name == "chainer" and run.mode == "training":
        yield KnownDefect(
            "training",
            "contaminated",
            "the earlier tool's training with Chainer never updated the parameters: a step is forward and "
            "backward alone",
        )
    if run.framework.name == "torch" and run.gpu_count:
        yield KnownDefect(
            "synchronisation",
            "contaminated",
            "the earlier tool did not wait for its warm-up to end: part of it is in the time",
        )


def _rate_agrees(run: LegacyRun) -> bool:
    if run.stated_rate is None or run.batch_size is None:
        return True
    return math.isclose(run.stated_rate * run.total_seconds, run.steps * run.batch_size, rel_tol=_SAME)


def _doubtful(run: LegacyRun) -> Iterator[KnownDefect]:
    """Yield what leaves the number as it is, but not to be relied on."""
    yield KnownDefect("unknown", "noisy", "imported: nothing is known of what the machine did meanwhile")
    yield KnownDefect(
        "one_number",
        "noisy",
        "the earlier tool kept one number per run: no samples, no spread, no interval",
        1,
    )
    if not run.preheat:
        yield KnownDefect(
            "warmup",
            "noisy",
            "timed from the first step on: what the framework compiles, tunes and allocates then is in the time",
        )
    elif run.framework.name == "tensorflow" and run.mode != "inference":
        yield KnownDefect(
            "warmup", "noisy", "warmed up by inference alone: tracing the training step is in the time"
        )
    if run.framework.name in ("pytorch", "torch") and run.backend == "native" and not run.gpu_count:
        yield KnownDefect("backend", "noisy", "oneDNN was turned off, which PyTorch itself does not do")


def notes(run: LegacyRun) -> list[str]:
    """Return what was assumed for the record, and what of the file it does not have."""
    date_sources = {
        "start_time": "its start_time, which the earlier tool took at the end, without a time zone",
        "file name": "the name of its file, without a time zone",
        "file": "the last change of its file, because it says nothing itself",
    }
    found = [f"ended_at is from {date_sources[run.dated_by]}; started_at is that less the timed part"]
    if run.mode is None:
        found.append(f"the mode is not recorded; '{mode_of(run)}' is what the earlier tool did by default")
    if run.batch_size is None:
        found.append("there are no mini-batches: each repetition counts as a step of one sample")
    if run.form != "total" and run.epochs and run.epochs > 1:
        found.append(f"the time is that of an epoch, the mean of {run.epochs}")
    if run.precision is None:
        found.append("the number format is not recorded")
    if run.energy:
        found.append("energy and power include idle draw, and from counters of the CPU the warm-up too")
    if run.dropped:
        found.append(f"not taken over: {', '.join(run.dropped)}")
    return found


def mode_of(run: LegacyRun) -> str:
    """Return the mode; of a matrix product it is the forward one, of all else the earlier tool's default."""
    if run.mode in ("inference", "training"):
        return run.mode
    return "training" if run.batch_size else "inference"
