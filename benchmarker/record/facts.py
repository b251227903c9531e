"""What is known of a run: by the orchestrator while it goes on, and of one that is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker.compile_caches import CompileCacheUse
from benchmarker.environments import Interpreter
from benchmarker.experiment import RunSpec
from benchmarker.launchers import Event


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
class RunFacts:
    """What the orchestrator knows of a run; a run that failed early knows less."""

    spec: RunSpec
    started_at: datetime
    ended_at: datetime | None = None
    interpreter: Interpreter | None = None
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    platform: Mapping[str, Any] = field(default_factory=dict)
    collectors: Mapping[str, Any] = field(default_factory=dict)
    monitors: Mapping[str, Any] = field(default_factory=dict)
    worker_seconds: float | None = None
    data: Mapping[str, Any] | None = None
    compile_cache: CompileCacheUse | None = None

    @staticmethod
    def begin(spec: RunSpec) -> RunFacts:
        """Start the clock of a run."""
        return RunFacts(spec, datetime.now(timezone.utc))

    def event(self, kind: str) -> Event:
        """Return the worker's event of that kind, empty if it sent none."""
        return self.events.get(kind, {})
