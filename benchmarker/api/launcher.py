"""The launcher contract: where and how the isolated process of a run is started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class WorkerCommand:
    """Everything that starts a worker.

    Parameters
    ----------
    interpreter : str
        The Python that runs it.
    job : mapping
        The job as JSON values.
    packages : mapping
        Top-level package to the folder that holds it, for what is imported from our side.
    environment : mapping
        All environment variables of the worker.
    affinity : tuple of int
        CPUs it is bound to; empty for no binding.
    log : Path
        Where its standard output and error go.
    timeout : float or None
        Seconds until it is ended.
    start : {"spawn", "fork"}
        A new interpreter, or a fork of one that has imported the framework and runs nothing.
    """

    interpreter: str
    job: Mapping[str, Any]
    packages: Mapping[str, str]
    environment: Mapping[str, str]
    affinity: tuple[int, ...]
    log: Path
    timeout: float | None = None
    start: str = "spawn"


@dataclass(frozen=True)
class Outcome:
    """How a worker ended.

    Parameters
    ----------
    exit_status : int or None
        As :mod:`subprocess` tells it: negative for a signal; ``None`` if it never started.
    ended_by : {"itself", "timeout", "interrupt"}
        Who ended it.
    unreadable_events : int
        Lines on the event pipe that were no events.
    """

    exit_status: int | None
    ended_by: str = "itself"
    unreadable_events: int = 0


Event = dict[str, Any]
Handler = Callable[[Event], "str | None"]
"""Takes an event; what it returns is sent to the worker."""


class Launcher(ABC):
    """Starts a worker, passes its events on, and ends it with everything it started.

    Attributes
    ----------
    name : str
        The entry point's name.
    starts : tuple of str
        Which values of :attr:`WorkerCommand.start` it knows.
    """

    name: str
    starts: tuple[str, ...] = ("spawn",)

    @abstractmethod
    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker to its end.

        Blocks without polling. On ``KeyboardInterrupt`` and on timeout the worker is ended and the
        outcome says so; nothing that it started is left behind. What the handler raises ends the worker too,
        and goes on to the caller: a worker may say anything, and the handler refuses what none should.
        """

    def close(self) -> None:  # noqa: B027 - most launchers keep nothing
        """End what is kept from one launch to the next."""
