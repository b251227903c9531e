"""What launchers have in common that leave it to an engine to start ranks: Slurm's ``srun``, or an MPI's ``mpirun``."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import selectors
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarker.api.launcher import (
    GroupHandler,
    Handler,
    Launcher,
    Outcome,
    RankPlace,
    WorkerCommand,
)
from benchmarker.cache import temporary_folder
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.launchers import frames
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.engine_client import EngineClient, said_in, with_reason
from benchmarker.execution.launchers.event_loop import BLAME_SECONDS, EventLoop, of_one
from benchmarker.execution.launchers.local import begin
from benchmarker.execution.launchers.rank_group import RankGroup, RankProcess
from benchmarker.execution.launchers.rank_place import place_here
from benchmarker.execution.launchers.spawned import BOOTSTRAP, starting_message
from benchmarker.execution.launchers.worker_process import WorkerProcess
from benchmarker.quick_dataclass import dataclass

RANK_END = Path(__file__).with_name("rank_end.py")
TELL = "tell"
_CHUNK = 1 << 16


@dataclass(frozen=True)
class OpenEngine:
    """An engine that has been started.

    Parameters
    ----------
    client : EngineClient
        Its process.
    incoming, outgoing : sequence of int
        As :class:`~benchmarker.execution.launchers.rank_group.RankGroup` takes them.
    """

    client: EngineClient
    incoming: Sequence[int]
    outgoing: Sequence[int]


class EngineLauncher(Launcher):
    """Starts ranks together by an engine.

    Attributes
    ----------
    rank_variables : tuple of str
        Variables that may tell a rank its number.
    kept : tuple of str
        Variables that a worker has from the engine.
    reasons : tuple of re.Pattern
        Of lines in which the engine says why something has ended, what says most first.
    """

    rank_variables: tuple[str, ...]
    kept: tuple[str, ...] = ()
    reasons: tuple[re.Pattern[str], ...]

    def __init__(self) -> None:
        self._places: Sequence[RankPlace] = ()

    @property
    def blame_seconds(self) -> float:
        """How long the engine may take to say that it lost a rank, where another has given up without a word."""
        return BLAME_SECONDS

    @abstractmethod
    def open_engine(
        self, processes: int, log: Path, doing: Sequence[str]
    ) -> AbstractContextManager[OpenEngine]:
        """Start so many rank ends, and end the engine when the context is left.

        Parameters
        ----------
        processes : int
            How many.
        log : Path
            Where the engine says what goes wrong.
        doing : sequence of str
            Further arguments of :data:`RANK_END`.
        """

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        # The rank end refuses another machine; asking first would start the engine twice.
        self._places = [place_of({**place_here(), "port": 0})]
        return self.launch_group([command], of_one(handler))[0]

    def launch_group(
        self,
        commands: Sequence[WorkerCommand],
        handler: GroupHandler,
        *,
        silence: float | None = None,
        answered: Collection[str] = (),
    ) -> list[Outcome]:
        places = self._places
        if len(places) != len(commands):
            places = self.rank_places(len(commands))
        self._places = ()
        with contextlib.ExitStack() as cleanup:
            engine = cleanup.enter_context(self.open_engine(len(commands), commands[0].log, ()))
            if len(engine.outgoing) < len(commands):
                raise self._not_started(len(commands), commands[0].log)
            group = RankGroup(engine.client, engine.incoming, engine.outgoing, commands)
            cleanup.callback(group.close)
            conversations = []
            for rank, command, place in zip(group.ranks, commands, places, strict=True):
                start = functools.partial(self._start, group, rank, place)
                conversations.append(begin(command, start, cleanup))
            group.begin()
            outcomes = EventLoop(conversations, handler, silence, answered, self.blame_seconds).run()
        return [with_reason(outcome, commands[0].log, self.reasons) for outcome in outcomes]

    def rank_places(self, processes: int) -> Sequence[RankPlace]:
        """Return where so many ranks would be, each told by what the engine starts there.

        Raises
        ------
        EnvironmentCreationError
            If the engine does not start them, with its own reason.
        """
        with temporary_folder() as folder:
            log = folder / "engine.log"
            with self.open_engine(processes, log, (TELL,)) as engine:
                reports = _rank_reports(engine.incoming, processes)
            if len(reports) < processes:
                raise self._not_started(processes, log)
        self._places = [place_of(json.loads(reports[rank])) for rank in range(processes)]
        return self._places

    def rank_end(self, where: str, doing: Sequence[str]) -> list[str]:
        """Return the command of a rank end."""
        return [sys.executable, "-I", str(RANK_END), ",".join(self.rank_variables), where, *doing]

    def _not_started(self, processes: int, log: Path) -> EnvironmentCreationError:
        ranks = f"{processes} ranks" if processes > 1 else "a worker"
        said = said_in(log, self.reasons) or "its engine gave no reason"
        return EnvironmentCreationError(f"the launcher '{self.name}' could not start {ranks}: {said}")

    def _start(
        self,
        group: RankGroup,
        rank: RankProcess,
        place: RankPlace,
        command: WorkerCommand,
        events: int,
        control: int,
        ours: ControlPipe,
        cleanup: contextlib.ExitStack,
    ) -> WorkerProcess:
        rank.connect(command, events, control)
        request = {
            "host": place.host,
            "boot": place.machine["boot"],
            "kept": self.kept,
            "environment": dict(command.environment),
            "arguments": [*command.prefix, command.interpreter, "-s", "-u", str(BOOTSTRAP)],
            "sockets": command.descriptors,
            "message": starting_message(command, job=command.job),
        }
        rank.tell(frames.BEGIN, (json.dumps(request) + "\n").encode())
        return rank


@contextlib.contextmanager
def through_streams(start: Callable[[int, int], EngineClient], processes: int) -> Iterator[OpenEngine]:
    """Yield an engine whose standard streams all ranks share.

    Parameters
    ----------
    start : callable
        Starts it with its standard input and output.
    """
    with contextlib.ExitStack() as cleanup:
        ours_in, theirs_out = os.pipe()
        cleanup.callback(os.close, ours_in)
        theirs_in, ours_out = os.pipe()
        closing = contextlib.ExitStack()
        closing.callback(os.close, ours_out)
        try:
            client = start(theirs_in, theirs_out)
        except BaseException:
            closing.close()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        cleanup.callback(client.leave)
        # Sooner: the ranks leave when nobody tells them anything any more.
        cleanup.enter_context(closing)
        yield OpenEngine(client, [ours_in], [ours_out] * processes)


def _rank_reports(incoming: Sequence[int], processes: int) -> dict[int, bytes]:
    """Return what each rank says of its place, as far as they do before the engine ends."""
    readers = {descriptor: frames.FrameReader() for descriptor in incoming}
    reports: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for descriptor in incoming:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and sum(text.endswith(b"\n") for text in reports.values()) < processes:
            for key, _ in selector.select():
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fd)
                for frame in readers[key.fd].take(data):
                    reports[frame.rank] = reports.get(frame.rank, b"") + frame.payload
    return {rank: text for rank, text in reports.items() if text.endswith(b"\n")}


def place_of(report: Mapping[str, Any]) -> RankPlace:
    """Return a place from what was told of it."""
    return RankPlace(
        report["host"], report["network"], report["addresses"], report["port"], report["machine"]
    )
