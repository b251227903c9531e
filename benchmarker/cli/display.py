"""Progress on standard error: one line that rewrites itself on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from benchmarker.experiment import RunSpec
from benchmarker.progress import Progress

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
    "evaluate": "classifying the data set",
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


class Display(Progress):
    """Shows what runs, how far it is and how long it still takes."""

    def __init__(self, stream: TextIO, *, interactive: bool) -> None:
        self._stream = stream
        self._interactive = interactive
        self._head = ""
        self._started = time.monotonic()
        self._durations: list[float] = []
        self._shown = ""
        self._stage = ""

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
        self._show("starting")

    def stage(self, name: str) -> None:
        """Show the stage."""
        self._stage = STAGES.get(name, name)
        self._show(self._stage)

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        """Show how many steps are done and how long the rest takes."""
        if total is None:
            self._show(f"{self._stage}, step {done}")
        else:
            self._show(f"step {done} of {total}, {_duration((total - done) * step_seconds)} still")

    def finished(self, record: dict[str, Any], path: Path) -> None:
        """Show how the run ended."""
        self._durations.append(time.monotonic() - self._started)
        status = record["status"]
        message = "" if record["error"] is None else f": {record['error']['message']}"
        self._line(f"{self._head}: {status}{message} ({_duration(self._durations[-1])})")

    def skipped(self, spec: RunSpec, reason: str) -> None:
        """Show which run is left out."""
        self._line(f"{spec.label}: left out, {reason}")

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._interactive:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _show(self, what: str) -> None:
        if not self._interactive:
            # A stage that goes on after another one is told once.
            if what != self._shown:
                self._line(f"{self._head}: {what}")
            self._shown = what
            return
        self._stream.write("\r\x1b[K" + f"{self._head}: {what}"[: self._width()])
        self._stream.flush()

    def _width(self) -> int:
        """Return how much fits on a line: one that wraps could not be rewritten."""
        try:
            return (os.get_terminal_size(self._stream.fileno()).columns or 80) - 1
        except OSError:
            return 79

    def _line(self, text: str) -> None:
        self._stream.write(("\r\x1b[K" if self._interactive else "") + text + "\n")
        self._stream.flush()


class _Silent(Display):
    """Shows nothing."""

    def _show(self, what: str) -> None:
        pass

    def _line(self, text: str) -> None:
        pass


def make_display(*, quiet: bool) -> Display:
    """Return the display for this standard error."""
    if quiet:
        return _Silent(sys.stderr, interactive=False)
    return Display(sys.stderr, interactive=sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
