"""The launcher contract: where and how the isolated process of a run is started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.options import NoOptions
from benchmarker.errors import UnsupportedError
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Enclosure:
    """What encloses a worker in a container; process numbers inside are those outside.

    Parameters
    ----------
    command : tuple of str
        Runs the command that is named after it, and ends as that does, or with 128 and the number of its signal.
    passes_descriptors : bool
        Whether the command inside inherits descriptors of ours, and not only the standard streams.
    stays : bool
        Whether it stays as the parent of the command inside; else it becomes that, or passes signals on.
    environment : mapping
        All its own environment variables, from which it makes those inside.
    ending : tuple of str
        A command that ends all inside where that is not in its process group.
    """

    command: tuple[str, ...]
    passes_descriptors: bool
    stays: bool
    environment: Mapping[str, str]
    ending: tuple[str, ...] = ()


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
    prefix : tuple of str
        A command that becomes the interpreter, named after it, without a process of its own: ``nsenter ... --``.
    descriptors : tuple of int
        Of ours that the worker inherits, and no other one.
    enclosure : Enclosure or None
        The container that the interpreter is in; None for one of the machine's own.
    """

    interpreter: str
    job: Mapping[str, Any]
    packages: Mapping[str, str]
    environment: Mapping[str, str]
    affinity: tuple[int, ...]
    log: Path
    timeout: float | None = None
    start: str = "spawn"
    prefix: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()
    enclosure: Enclosure | None = None


@dataclass(frozen=True)
class Outcome:
    """How a worker ended.

    Parameters
    ----------
    exit_status : int or None
        As :mod:`subprocess` tells it: negative for a signal; ``None`` if it never started.
    ended_by : {"itself", "timeout", "silence", "stopped", "interrupt", "group"}
        Why it ended; ``stopped`` where a signal had stopped it for too long, ``group`` where another one of its group
        came to no good end first.
    unreadable_events : int
        Lines on the event pipe that were no events.
    reason : str or None
        What the engine that started it says of its end, in its own words.
    """

    exit_status: int | None
    ended_by: str = "itself"
    unreadable_events: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class RankPlace:
    """Where a launcher would start a rank, told by what runs there.

    Parameters
    ----------
    host : str
        The machine's own name.
    network : str
        Alike for ranks that have one loopback interface in common.
    addresses : mapping
        IPv4 address by network interface.
    port : int
        One that is free there.
    machine : mapping
        What machines of one record must have in common, and ``boot``, which no two machines have.
    """

    host: str
    network: str
    addresses: Mapping[str, str]
    port: int
    machine: Mapping[str, Any]


Event = dict[str, Any]
Handler = Callable[[Event], "str | None"]
"""Takes an event; what it returns is sent to the worker."""
GroupHandler = Callable[[int, Event], Iterable["tuple[int, str]"]]
"""Takes a rank and its event, one event at a time; returns ranks, each with what is sent to it."""


class Launcher(ABC):
    """Starts a worker, passes its events on, and ends it with everything it started.

    Attributes
    ----------
    name : str
        The entry point's name.
    starts : tuple of str
        Which values of :attr:`WorkerCommand.start` it knows.
    encloses : bool
        Whether it knows :attr:`WorkerCommand.enclosure`.
    options : type
        Frozen dataclass of what :meth:`around` takes, given as ``--set LAUNCHER.NAME=VALUE``.
    """

    name: str
    starts: tuple[str, ...] = ("spawn",)
    encloses: bool = False
    options: type[Any] = NoOptions

    @abstractmethod
    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker to its end.

        Blocks without polling. On ``KeyboardInterrupt`` and on timeout the worker is ended and the
        outcome says so; nothing that it started is left behind. What the handler raises ends the worker too,
        and goes on to the caller: a worker may say anything, and the handler refuses what none should.

        Parameters
        ----------
        command : WorkerCommand
            What to start, with its variables and its time limit in seconds.
        handler : callable
            Takes each event as it comes, and returns what is sent back to the worker, None for nothing.
        """

    def launch_group(
        self,
        commands: Sequence[WorkerCommand],
        handler: GroupHandler,
        *,
        silence: float | None = None,
        answered: Collection[str] = (),
    ) -> list[Outcome]:
        """Run workers that need each other, all at once, to their end; return how each ended.

        When one of them ends with another status than 0 or without its ``result``, says ``error``, runs out of its
        time or breaks the protocol, the others are ended at once, and so are all on ``KeyboardInterrupt``. Otherwise
        it is as :meth:`launch`.

        Parameters
        ----------
        commands : sequence of WorkerCommand
            One a rank.
        handler : callable
            Takes each event with its rank.
        silence : float, optional
            Seconds that a rank may say nothing while another waits for an answer, or be stopped by a signal.
        answered : collection of str, optional
            The kinds of events that their sender waits for an answer to.

        Raises
        ------
        UnsupportedError
            If the launcher starts single workers only.
        """
        raise UnsupportedError(f"the launcher '{self.name}' starts no groups of ranks; use --launcher=local")

    def around(self, options: Any, program: Sequence[str]) -> list[str] | None:
        """Return what must run benchmarker itself before this launcher can start anything; None if it runs there.

        Parameters
        ----------
        options : object
            Of :attr:`options`, of which at least one was given.
        program : sequence of str
            The command under way.
        """
        return None

    def fault(self) -> str | None:
        """Return why nothing can be started from here, whatever is to be run; None if something can."""
        return None

    def rank_places(self, processes: int) -> Sequence[RankPlace] | None:
        """Return where :meth:`launch_group` will start so many processes; None where that is all this machine.

        Raises
        ------
        UnsupportedError
            If it cannot start so many.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most launchers keep nothing
        """End what is kept from one launch to the next."""
