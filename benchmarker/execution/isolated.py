"""The one way into a worker: a job, in an isolated process, to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Event, Handler, Launcher, Outcome, WorkerCommand
from benchmarker.cache import temporary_folder
from benchmarker.errors import ProtocolError
from benchmarker.execution.claimed_version import version_failure
from benchmarker.execution.compile_caches import CompileCache, CompileCacheUse, open_compile_cache
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.import_roots import import_roots
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.outcomes import Failure, failure, log_tail, oom_kills
from benchmarker.execution.variables import ProcessSettings, worker_environment
from benchmarker.worker.job import Job, to_json

if TYPE_CHECKING:
    from benchmarker.execution.event_check import EventCheck


def _no_answer(event: Event) -> str | None:
    return None


class EventLog:
    """What a worker has said so far, each event held to what its job may say.

    Parameters
    ----------
    job : str
        The kind of its job.
    handler : callable
        Is told of each event, and may answer it.

    Attributes
    ----------
    events : dict
        The last event of each kind.
    stage : str
        The stage that was announced last.
    """

    def __init__(self, job: str, handler: Handler = _no_answer) -> None:
        self._job = job
        self._handler = handler
        self.events: dict[str, Event] = {}
        self.stage = "start"

    def handle(self, event: Event) -> str | None:
        """Take an event; return what is sent to the worker.

        Raises
        ------
        ProtocolError
            If it is none that may come now.
        """
        event = self._check.check(event)
        kind = event["event"]
        if kind == "stage":
            self.stage = event["name"]
        reply = self._handler(event)
        # Not sooner: the handler may find it wrong.
        self.events[kind] = event
        return reply

    @cached_property
    def _check(self) -> EventCheck:
        # With the first event, since it loads what the start does without.
        from benchmarker.execution.event_check import EventCheck

        return EventCheck(self._job)


@dataclass(frozen=True)
class Answer:
    """What a worker said, and how it ended.

    Parameters
    ----------
    events : mapping
        The last event of each kind.
    failure : Failure or None
        Why it came to no good end.
    log_tail : str
        The last lines of its log if it did not, else nothing.
    seconds : float
        From its start to its end.
    environment : mapping
        All its environment variables.
    compile_cache : CompileCacheUse or None
        What it found in its compile cache and left there; None if it was given none.
    """

    events: Mapping[str, Event]
    failure: Failure | None
    log_tail: str
    seconds: float
    environment: Mapping[str, str]
    compile_cache: CompileCacheUse | None

    def failure_unless_interrupted(self) -> Failure | None:
        """Return why there is no result.

        Raises
        ------
        KeyboardInterrupt
            If it is because the user interrupted.
        """
        if self.failure is not None and self.failure.status == "interrupted":
            raise KeyboardInterrupt
        return self.failure

    def result(self, sentence: Callable[[Failure], str] = lambda failed: failed.message) -> Event:
        """Return the worker's result.

        Parameters
        ----------
        sentence : callable
            Returns what the user is told of a failure.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupted.
        BenchmarkerError
            If there is none, for another reason.
        """
        failed = self.failure_unless_interrupted()
        if failed is not None:
            raise failed.error(sentence(failed))
        return self.events["result"]


def run_isolated(
    job: Job,
    plugin: FrameworkPlugin,
    interpreter: Interpreter,
    *,
    settings: ProcessSettings = ProcessSettings(),
    handler: Handler = _no_answer,
    log: Path | None = None,
    launcher: Launcher | None = None,
    meanwhile: AbstractContextManager[object] | None = None,
) -> Answer:
    """Do a job in a process of its own, under the framework's interpreter, to its end.

    Parameters
    ----------
    job : Job
        What to do.
    plugin : FrameworkPlugin
        The framework that does it.
    interpreter : Interpreter
        What runs it.
    settings : ProcessSettings
        How the process is started.
    handler : callable
        Is told of each event, and may answer it.
    log : Path, optional
        Where its output goes, instead of a file that is removed afterwards.
    launcher : Launcher, optional
        What starts it, instead of one that starts a process of this machine.
    meanwhile : context manager, optional
        Entered just before it starts and left once it has ended.

    Raises
    ------
    BenchmarkerError
        If it cannot be started.
    """
    kills, heard = oom_kills(), EventLog(job.kind, handler)
    environment = worker_environment(plugin, settings, threads=job.threads, seed=job.seed)
    with (
        _log_file(log) as path,
        _compile_cache(settings.compile_cache, plugin, interpreter, environment) as cache,
        meanwhile or nullcontext(),
    ):
        environment |= cache.folders if cache else {}
        command = _command(job, interpreter, environment, settings, path)
        files, start = cache.files() if cache else 0, time.monotonic()
        outcome, broken = _launched(launcher or LocalLauncher(), command, heard)
        seconds = time.monotonic() - start
        used = CompileCacheUse(cache, files, cache.files()) if cache else None
        tail = log_tail(path)
    failed = failure(outcome, heard.stage, heard.events, tail, oom_kills() > kills, settings.timeout)
    if broken is not None and "error" not in heard.events:
        heard.events.pop("result", None)
        failed = Failure("failed", heard.stage, type(broken).__name__, str(broken))
    failed = failed or version_failure(plugin, heard.events)
    return Answer(heard.events, failed, tail if failed else "", seconds, environment, used)


def _launched(
    launcher: Launcher, command: WorkerCommand, heard: EventLog
) -> tuple[Outcome, ProtocolError | None]:
    """Run the worker to its end, and return how it broke the protocol if it did."""
    try:
        return launcher.launch(command, heard.handle), None
    except ProtocolError as broken:
        return Outcome(None), broken


@contextmanager
def _log_file(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        yield wanted
        return
    with temporary_folder() as folder:
        yield folder / "run.log"


def _compile_cache(
    kind: str | None, plugin: FrameworkPlugin, interpreter: Interpreter, environment: Mapping[str, str]
) -> AbstractContextManager[CompileCache | None]:
    return nullcontext() if kind is None else open_compile_cache(kind, plugin, interpreter, environment)


def _command(
    job: Job, interpreter: Interpreter, environment: Mapping[str, str], settings: ProcessSettings, log: Path
) -> WorkerCommand:
    return WorkerCommand(
        interpreter.path,
        to_json(job),
        import_roots(job.entry_points),
        environment,
        settings.affinity,
        log,
        settings.timeout,
        settings.start,
    )
