"""What an experiment tells while it runs; the command line shows it, a program may ignore it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarker.experiment.spec import RunSpec


class Progress:
    """Does nothing; a subclass shows what it wants."""

    def of(self, spec: RunSpec) -> Progress:
        """Return who is told of one run; several may be under way, each in a thread of its own."""
        return self

    def note(self, text: str) -> None:
        """Tell of something that takes time, e.g. a line of the installer."""

    def started(self, spec: RunSpec, index: int, total: int) -> None:
        """Tell that run ``index`` (from 0) of ``total`` begins."""

    def stage(self, name: str) -> None:
        """Tell that the run has entered a stage."""

    def steps(self, done: int, total: int | None, step_seconds: float) -> None:
        """Tell how many steps of the stage are done and how long the last one took."""

    def quality(self, loss: float | None, value: float | None) -> None:
        """Tell the last loss of a training, and the last value of what its target is of, before its steps."""

    def finished(self, record: dict[str, Any], path: Path) -> None:
        """Tell that a run has ended and where its record is."""

    def lost(self, spec: RunSpec) -> None:
        """Tell that a run has ended without a record."""

    def skipped(self, spec: RunSpec, reason: str) -> None:
        """Tell that a run is left out, and why."""
