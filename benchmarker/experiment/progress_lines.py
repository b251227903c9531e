"""What an experiment tells, as lines of text: a line per stage of each run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import RunSpec

STAGES = {
    "import": "importing the framework",
    "device": "initialising the device",
    "initialise": "drawing weights and mini-batch",
    "build": "building",
    "verify": "verifying against the reference",
    "verify_step": "verifying the first step",
    "compile": "first step",
    "warmup": "warming up",
    "fill": "preparing mini-batches",
    "measure": "measuring",
    "exactness": "comparing with the reference, again and again",
    "evaluate": "evaluating",
    "verify_again": "verifying again",
    "divergence": "training beside the reference",
    "monitor": "monitoring apart",
    "breakdown": "timing the parts of a step",
    "profile": "profiling operators",
    "reference": "computing the reference",
}
"""What is said of each stage of a run."""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


class ProgressLines(Progress):
    """Says what runs, how far it is and how long it still takes.

    Parameters
    ----------
    say : callable
        Takes a line of text, without its end.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._head = ""
        self._started = time.monotonic()
        self._durations: list[float] = []
        self._shown = ""
        self._stage = ""
        self._target: Mapping[str, Any] | None = None
        self._quality = ""

    def note(self, text: str) -> None:
        """Show a line of something slow."""
        self._show(text)

    def started(self, spec: RunSpec, index: int, total: int) -> None:
        """Show which run begins."""
        self._head = f"[{index + 1}/{total}] {spec.label}"
        if self._durations:
            average = sum(self._durations) / len(self._durations)
            self._head += f", about {_duration(average * (total - index))} for all that is left"
        self._started = time.monotonic()
        self._shown = ""
        self._target = None if spec.training is None else spec.training["target"]
        self._quality = ""
        self._show("starting")

    def stage(self, name: str) -> None:
        self._stage = STAGES.get(name, name)
        self._show(self._stage)

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        """Show how many steps are done and how long the rest takes."""
        if total is None:
            self._show(f"{self._stage}, step {done}")
        else:
            left = _duration((total - done) * step_seconds)
            self._show(f"step {done} of {total}, {self._quality}{left} still")

    def quality(self, loss: float | None, value: float | None) -> None:
        """Keep what is shown with the next steps: the loss, and how near a training is to its target."""
        parts = [] if loss is None else [f"loss {loss:.3g}"]
        if value is not None and self._target is not None:
            parts.append(f"{self._target['metric']} {value:.4g} of {self._target['value']:g}")
        self._quality = "".join(f"{part}, " for part in parts)

    def finished(self, record: dict[str, Any], path: Path) -> None:
        """Show how the run ended."""
        self._durations.append(time.monotonic() - self._started)
        status = record["status"]
        message = "" if record["error"] is None else f": {record['error']['message']}"
        self._say(f"{self._head}: {status}{message} ({_duration(self._durations[-1])})")

    def skipped(self, spec: RunSpec, reason: str) -> None:
        """Show which run is left out."""
        self._say(f"{spec.label}: left out, {reason}")

    def _show(self, what: str) -> None:
        # A stage that goes on after another one is told once.
        if what != self._shown:
            self._say(f"{self._head}: {what}")
        self._shown = what
