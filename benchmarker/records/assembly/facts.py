"""What is known of a run: by the orchestrator while it goes on, and of one that is done."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarker.api.launcher import Event
from benchmarker.execution.compile_caches import CompileCacheUse
from benchmarker.execution.environments import Interpreter
from benchmarker.experiment.spec import RunSpec
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class FinishedRun:
    """A record, where it was written, and which cell of its experiment it belongs to."""

    record: dict[str, Any]
    path: Path
    cell: int = 0

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return bool(self.record["status"] == "interrupted")


@dataclass(frozen=True)
class RankFacts:
    """What is known of all ranks of a run.

    Parameters
    ----------
    results : sequence of Event
        Of each rank.
    server : Event or None
        The result of the scheme's server.
    network : {"shared", "counted", "emulated"}
        What they reached each other by.
    absent_reason : str or None
        Why no bytes were counted.
    wire_bytes : float or None
        That were counted in the timed part.
    nodes : sequence of int or None
        The node of each rank, numbered from 0; None where their launcher starts them on this machine alone.
    one_clock : bool
        Whether all are on one machine.
    """

    results: Sequence[Event]
    server: Event | None
    network: str
    absent_reason: str | None
    wire_bytes: float | None
    nodes: Sequence[int] | None = None
    one_clock: bool = True


@dataclass(frozen=True)
class RunFacts:
    """What the orchestrator knows of a run; a run that failed early knows less."""

    spec: RunSpec
    started_at: datetime
    ended_at: datetime | None = None
    began: float = field(default_factory=time.monotonic)
    """``started_at`` by a clock that nobody sets."""
    interpreter: Interpreter | None = None
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    platform: Mapping[str, Any] = field(default_factory=dict)
    collectors: Mapping[str, Any] = field(default_factory=dict)
    monitors: Mapping[str, Any] = field(default_factory=dict)
    worker_seconds: float | None = None
    data: Mapping[str, Any] | None = None
    compile_cache: CompileCacheUse | None = None
    ranks: RankFacts | None = None
    """What only a run of several ranks has."""
    peaks: Mapping[str, Any] | None = None
    """What this machine reached at most for such a run; None if it was not calibrated."""
    speed: Mapping[str, Any] | None = None
    """Which share of its own speed this machine had; None if it was not probed."""
    doctor: Mapping[str, Any] | None = None
    """What would spoil numbers on this machine; None if nothing was timed."""

    @staticmethod
    def begin(spec: RunSpec) -> RunFacts:
        """Start the clock of a run."""
        return RunFacts(spec, datetime.now(timezone.utc))

    @property
    def now(self) -> datetime:
        """The time of day, as it would be if nobody had set the clock since the start."""
        return self.started_at + timedelta(seconds=time.monotonic() - self.began)

    def event(self, kind: str) -> Event:
        """Return the worker's event of that kind, empty if it sent none."""
        return self.events.get(kind, {})

    @property
    def device_name(self) -> str | None:
        """What the framework calls its device; for a CPU the model, which frameworks do not tell."""
        if self.spec.device == "cpu":
            cpu = self.platform.get("cpu")
            if isinstance(cpu, dict) and cpu.get("model"):
                return str(cpu["model"])
        name = self.event("prepared").get("device_name")
        return str(name) if name else None

    @property
    def calibrated_device(self) -> str | None:
        """The name by which peaks of the run's device are kept; None for a GPU that is not known."""
        return "cpu" if self.spec.device == "cpu" else self.device_name
