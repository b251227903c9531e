"""The one way into a worker: a job, in an isolated process, to an answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Event, GroupHandler, Handler, Launcher, Outcome, WorkerCommand
from benchmarker.cache import temporary_folder
from benchmarker.errors import ProtocolError
from benchmarker.execution.claimed_version import version_failure
from benchmarker.execution.compile_caches import CompileCache, CompileCacheUse, open_compile_cache
from benchmarker.execution.contained import base_variables, enclosure_of
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.import_roots import import_roots
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.execution.outcomes import ENDED_WITH_GROUP, Failure, failure, log_tail, oom_kills
from benchmarker.execution.variables import ProcessSettings, worker_environment
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.job import Job, to_json

if TYPE_CHECKING:
    from benchmarker.execution.event_check import EventCheck

ANSWERED = ("ready", "window_ended", "untimed_pass_started")
"""The kinds of events that a worker waits for an answer to."""


def _no_answer(event: Event) -> str | None:
    return None


class EventLog:
    """What a worker has said so far, each event held to what its job may say.

    Parameters
    ----------
    job : str
        The kind of its job.
    handler : callable
        Is told of each event.

    Attributes
    ----------
    events : dict
        The last event of each kind.
    stage : str
        The stage that was announced last.
    """

    def __init__(self, job: str, handler: Callable[[Event], Any] = _no_answer) -> None:
        self._job = job
        self._handler = handler
        self.events: dict[str, Event] = {}
        self.stage = "start"

    def handle(self, event: Event) -> Any:
        """Take an event; return what the handler returns.

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


def first_failure(answers: Sequence[Answer], names: Sequence[str] | None = None) -> Failure | None:
    """Return why a group of ranks came to no good end, with the name of the rank that was the first; None if it did.

    Ranks that were ended because of another one do not count; of several that ran out of time all are named.

    Parameters
    ----------
    answers : sequence of Answer
        One a rank.
    names : sequence of str, optional
        Theirs, if they are not to be numbered.
    """
    names = names or [f"rank {rank} of {len(answers)}" for rank in range(len(answers))]
    found = [
        (name, answer.failure)
        for name, answer in zip(names, answers, strict=True)
        if answer.failure is not None and answer.failure.type != ENDED_WITH_GROUP
    ]
    if not found:
        return None
    name, failed = found[0]
    if failed.status == "interrupted":
        return failed
    if failed.status == "timeout":
        name = " and ".join(one for one, other in found if other == failed)
    return failed.of_rank(name)


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
    heard = EventLog(job.kind, handler)

    def launch(commands: Sequence[WorkerCommand]) -> list[Outcome]:
        return [(launcher or LocalLauncher()).launch(commands[0], heard.handle)]

    with _log_file(log) as path:
        return _answers([job], plugin, interpreter, [settings], [heard], [path], launch, meanwhile, None)[0]


def run_isolated_group(
    jobs: Sequence[Job],
    plugin: FrameworkPlugin,
    interpreter: Interpreter,
    *,
    settings: Sequence[ProcessSettings],
    handler: GroupHandler,
    logs: Sequence[Path],
    launcher: Launcher | None = None,
    meanwhile: AbstractContextManager[object] | None = None,
    silence: float | None = None,
    answered: Collection[str] = ANSWERED,
) -> list[Answer]:
    """Do jobs that need each other, one per rank, in processes of their own, all at once, to the end of all.

    The first of them that comes to no good end ends the others (:func:`first_failure`).

    Parameters
    ----------
    jobs, settings, logs : sequence
        What each rank does, how its process is started, and where its output goes.
    plugin, interpreter, launcher, meanwhile
        As for :func:`run_isolated`.
    handler : callable
        Is told of each event with its rank, one at a time; returns ranks, each with what is sent to it.
    silence : float, optional
        Seconds that a rank may say nothing while another waits for an answer, or be stopped by a signal.
    answered : collection of str, optional
        The kinds of events that their sender waits for an answer to.

    Raises
    ------
    BenchmarkerError
        If one cannot be started.
    """

    def replies(rank: int, event: Event) -> tuple[tuple[int, str], ...]:
        return tuple(handler(rank, event))

    heard = [EventLog(job.kind, partial(replies, rank)) for rank, job in enumerate(jobs)]

    def launch(commands: Sequence[WorkerCommand]) -> list[Outcome]:
        chosen = launcher or LocalLauncher()
        return chosen.launch_group(
            commands, lambda rank, event: heard[rank].handle(event), silence=silence, answered=answered
        )

    return _answers(jobs, plugin, interpreter, settings, heard, logs, launch, meanwhile, silence)


def _answers(
    jobs: Sequence[Job],
    plugin: FrameworkPlugin,
    interpreter: Interpreter,
    settings: Sequence[ProcessSettings],
    heard: Sequence[EventLog],
    logs: Sequence[Path],
    launch: Callable[[Sequence[WorkerCommand]], list[Outcome]],
    meanwhile: AbstractContextManager[object] | None,
    silence: float | None,
) -> list[Answer]:
    """Launch a worker for each job, and return what became of it."""
    kills = oom_kills()
    with ExitStack() as folders:
        environments, caches = [], []
        for job, own in zip(jobs, settings, strict=True):
            environment = worker_environment(
                plugin, own, threads=job.threads, seed=job.seed, base=_base(plugin, interpreter)
            )
            cache = folders.enter_context(_compile_cache(own.compile_cache, plugin, interpreter, environment))
            environments.append({**environment, **(cache.folders if cache else {})})
            caches.append(cache)
        with meanwhile or nullcontext():
            commands = [
                folders.enter_context(_command(job, interpreter, environment, own, log, cache))
                for job, environment, own, log, cache in zip(
                    jobs, environments, settings, logs, caches, strict=True
                )
            ]
            files, start = [cache.files() if cache else 0 for cache in caches], time.monotonic()
            outcomes, broken = _launched(launch, commands)
            seconds = time.monotonic() - start
        used = [
            CompileCacheUse(cache, before, cache.files()) if cache else None
            for cache, before in zip(caches, files, strict=True)
        ]
    killed, answers = oom_kills() > kills, []
    for rank, (log, own, outcome) in enumerate(zip(heard, settings, outcomes, strict=True)):
        tail = log_tail(logs[rank])
        failed = failure(outcome, log.stage, log.events, tail, killed, own.timeout, silence)
        if broken is not None and broken.rank == rank and "error" not in log.events:
            log.events.pop("result", None)
            failed = Failure("failed", log.stage, type(broken).__name__, str(broken))
        failed = failed or version_failure(plugin, log.events)
        answers.append(
            Answer(log.events, failed, tail if failed else "", seconds, environments[rank], used[rank])
        )
    return answers


def _launched(
    launch: Callable[[Sequence[WorkerCommand]], list[Outcome]], commands: Sequence[WorkerCommand]
) -> tuple[list[Outcome], ProtocolError | None]:
    """Run the workers to their end; return how one broke the protocol if it did."""
    try:
        return launch(commands), None
    except ProtocolError as broken:
        others = Outcome(None, "group")
        return [Outcome(None) if r == broken.rank else others for r in range(len(commands))], broken


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


def _base(plugin: FrameworkPlugin, interpreter: Interpreter) -> Mapping[str, str]:
    container = interpreter.container
    return os.environ if container is None else base_variables(container, plugin)


@contextmanager
def _command(
    job: Job,
    interpreter: Interpreter,
    environment: Mapping[str, str],
    settings: ProcessSettings,
    log: Path,
    cache: CompileCache | None,
) -> Iterator[WorkerCommand]:
    packages = import_roots(job.entry_points)
    compiled = cache.folders if cache else {}
    with enclosure_of(interpreter.container, job, packages, environment, compiled) as enclosure:
        yield WorkerCommand(
            interpreter.path,
            to_json(job),
            packages,
            environment,
            settings.affinity,
            log,
            settings.timeout,
            settings.start,
            settings.command_prefix,
            settings.descriptors,
            enclosure,
        )
