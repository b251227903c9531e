"""What an experiment tells, as lines of text: a line per stage of each run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.execution.environments.status import Pacer
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import RunSpec

STAGES = {
    "import": "importing the framework",
    "device": "initializing the device",
    "initialise": "drawing weights and mini-batch",
    "build": "building",
    "verify": "verifying against the reference",
    "verify_step": "verifying the first step",
    "wait_for_ranks": "waiting for the imports of all ranks",
    "rendezvous": "meeting the other ranks",
    "parts": "timing the parts of a step",
    "serve": "serving",
    "compile": "first step",
    "warmup": "warming up",
    "search": "looking for the rate that keeps the latency bound",
    "fill": "preparing mini-batches",
    "measure": "measuring",
    "exactness": "comparing with the reference, repeatedly",
    "evaluate": "evaluating",
    "verify_again": "verifying again",
    "divergence": "training alongside the reference",
    "monitor": "monitoring, untimed",
    "breakdown": "timing the parts of a step",
    "profile": "profiling operators",
    "reference": "computing the reference",
}
"""What is said of each stage of a run."""
MAX_SHOWN_SECONDS, MAX_SHOWN_MINUTES = 90, 90


def about(seconds: float) -> str:
    """Return a duration in the unit that people would choose, e.g. ``"62 s"`` or ``"3 min"``."""
    if seconds < MAX_SHOWN_SECONDS:
        return f"{max(1.0, seconds):.0f} s"
    if seconds < 60 * MAX_SHOWN_MINUTES:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class RunProgress(Progress):
    """How far one run is.

    Parameters
    ----------
    spec : RunSpec
        Which one.
    index, total : int
        Its place among the runs, from 0, and how many there are.
    changed : callable
        Called whenever there is something new to show.
    """

    def __init__(self, spec: RunSpec, index: int, total: int, changed: Callable[[RunProgress], None]) -> None:
        self.spec = spec
        self.head = f"[{index + 1}/{total}] {spec.label}"
        self.began = time.monotonic()
        self.share: float | None = None
        """Of the steps of this stage, if their number is known."""
        self.shown = ""
        """The line that was shown last."""
        self._changed = changed
        self._parts = ["starting"]
        self._stage = "starting"
        self._first: tuple[float, int] | None = None
        """When steps of this stage were first told of, and how many were done by then."""
        self._target: Mapping[str, Any] | None = None if spec.training is None else spec.training["target"]
        self._quality: list[str] = []

    @property
    def parts(self) -> list[str]:
        """What is to be said, the most important first."""
        return self._parts

    def note(self, text: str) -> None:
        self._tell([text], None)

    def stage(self, name: str) -> None:
        self._stage, self._first = STAGES.get(name, name), None
        self._tell([self._stage], None)

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        if total is None:
            self._tell([self._stage, f"step {done:,}", *self._quality], None)
            return
        left = f"about {about(self._seconds_left(done, total, step_seconds))} left"
        self._tell(
            [f"step {done:,} of {total:,}", left, *self._quality], min(1.0, done / total) if total else None
        )

    def _seconds_left(self, done: int, total: int, step_seconds: float) -> float:
        """Return how long the rest takes at the pace so far, pauses between steps included."""
        now = time.monotonic()
        if self._first is None or done <= self._first[1]:
            self._first = (now, done)
            return (total - done) * step_seconds
        began, before = self._first
        return (total - done) * (now - began) / (done - before)

    def quality(self, loss: float | None, value: float | None) -> None:
        """Keep what is shown with the next steps: the loss, and how near a training is to its target."""
        self._quality = [] if loss is None else [f"loss {loss:.3g}"]
        if value is not None and self._target is not None:
            self._quality.append(f"{self._target['metric']} {value:.4g} of {self._target['value']:g}")

    def _tell(self, parts: list[str], share: float | None) -> None:
        self._parts, self.share = parts, share
        self._changed(self)


class Pace:
    """How long all runs that are left take, by those that have ended."""

    def __init__(self) -> None:
        self.total = self.ended = 0
        self._reached = 0
        self._running = 0
        self._began: float | None = None
        self._last_end = 0.0

    def started(self, index: int, total: int) -> None:
        """Take notice that a run begins."""
        self._began = time.monotonic() if self._began is None else self._began
        self.total, self._reached = max(total, self.total), index + 1
        self._running += 1

    def finished(self) -> None:
        """Take notice that a run has ended."""
        self._last_end = time.monotonic()
        self._running -= 1
        self.ended += 1

    @property
    def done(self) -> int:
        """How many need not be waited for, those that were there before included."""
        return self._reached - self._running

    @property
    def seconds_left(self) -> float | None:
        """Until the last run ends, if those to come take as long as those before; None where that says nothing."""
        if not self.ended or self._began is None:
            return None
        each = (self._last_end - self._began) / self.ended
        spent = time.monotonic() - self._last_end
        left = (self.total - self.done) * each - spent
        return left if left > 0 else None


class ProgressLines(Progress):
    """Says what runs, how far it is and how long it still takes.

    Parameters
    ----------
    say : callable
        Takes a line of text, without its end.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._pace = Pace()
        self._pacer = Pacer()
        self._runs: list[RunProgress] = []
        """Those under way, the newest last."""
        self._lock = threading.RLock()

    def of(self, spec: RunSpec) -> Progress:
        """Return who is told of one run among several that are under way."""
        return _OfRun(self, self._run(spec))

    def note(self, text: str) -> None:
        """Show a line of something slow."""
        with self._lock:
            if self._runs:
                self._runs[-1].note(text)
            else:
                self._remark(text)

    def started(self, spec: RunSpec, index: int, total: int) -> None:
        """Show which run begins."""
        with self._lock:
            self._pace.started(index, total)
            run = RunProgress(spec, index, total, self._show)
            self._runs.append(run)
            run.note(self._starting())

    def stage(self, name: str) -> None:
        self._run().stage(name)

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        """Show how many steps are done and how long the rest takes."""
        self._run().steps(done, total, step_seconds)

    def quality(self, loss: float | None, value: float | None) -> None:
        self._run().quality(loss, value)

    def finished(self, record: dict[str, Any], path: Path) -> None:
        """Show how the run ended."""
        self._end(self._run(), record)

    def lost(self, spec: RunSpec) -> None:
        """Forget a run, of which a note tells what became of it."""
        with self._lock:
            self._runs.remove(self._run(spec))
            self._pace.finished()

    def skipped(self, spec: RunSpec, reason: str) -> None:
        """Show which run is left out."""
        self._say(f"{spec.label}: skipped, {reason}")

    def _run(self, spec: RunSpec | None = None) -> RunProgress:
        """Return a run under way, the newest without a specification; equal ones are told apart."""
        return next(run for run in reversed(self._runs) if spec is None or run.spec is spec)

    def _end(self, run: RunProgress, record: Mapping[str, Any]) -> None:
        with self._lock:
            self._runs.remove(run)
            self._pace.finished()
            message = "" if record["error"] is None else f": {record['error']['message']}"
            took = about(time.monotonic() - run.began)
            self._ended(run.head, record["status"], f"{message} ({took})")

    def _remark(self, text: str) -> None:
        """Show what is told between runs."""
        if self._pacer.lets_pass(text):
            self._say(text)

    def _ended(self, head: str, status: str, rest: str) -> None:
        self._say(f"{head}: {status}{rest}")

    def _starting(self) -> str:
        """Return what is said of a run that begins."""
        left = self._pace.seconds_left
        return "starting" if left is None else f"starting, about {about(left)} left for all runs"

    def _show(self, run: RunProgress) -> None:
        # A stage that goes on after another one is told once, how far an installer is from time to time.
        what = ", ".join(run.parts)
        if what != run.shown and self._pacer.lets_pass(run.parts[0]):
            self._say(f"{run.head}: {what}")
        run.shown = what


class _OfRun(Progress):
    """One run among several."""

    def __init__(self, lines: ProgressLines, run: RunProgress) -> None:
        self._lines, self._run = lines, run

    def note(self, text: str) -> None:
        with self._lines._lock:
            self._run.note(text)

    def stage(self, name: str) -> None:
        with self._lines._lock:
            self._run.stage(name)

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        with self._lines._lock:
            self._run.steps(done, total, step_seconds)

    def quality(self, loss: float | None, value: float | None) -> None:
        self._run.quality(loss, value)

    def finished(self, record: dict[str, Any], path: Path) -> None:
        self._lines._end(self._run, record)
