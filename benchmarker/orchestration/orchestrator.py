"""Experiment to isolated runs to records: the one place that knows the whole way."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Handler, Launcher
from benchmarker.cache import temporary_folder
from benchmarker.errors import BenchmarkerError, StoreError, UsageError, first_line
from benchmarker.execution.claimed_version import version_check
from benchmarker.execution.environments import Interpreter, resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.outcomes import Failure, log_tail
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.campaign import Campaign, ScheduledRun, replication_status
from benchmarker.experiment.data_checks import prepared_data
from benchmarker.experiment.keys import early_stop_key
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import RunSpec
from benchmarker.experiment.suitability import unsupported_reason
from benchmarker.machine.identity import without_names
from benchmarker.orchestration.collector_session import CollectorSession, own_copy
from benchmarker.orchestration.events import RunEvents
from benchmarker.orchestration.reference_runs import NoReference, References
from benchmarker.orchestration.run_job import run_job
from benchmarker.orchestration.run_record import (
    FAULTS,
    log_text,
    record_of,
    trace_bytes,
    unforeseen,
)
from benchmarker.orchestration.turns import SIDES, WINDOW_SECONDS, Seat, UnwatchedSession, take_turns
from benchmarker.records.assembly.acceptance import judge
from benchmarker.records.assembly.anonymous import anonymous_trace
from benchmarker.records.assembly.facts import FinishedRun, RunFacts
from benchmarker.records.attachments import attachments_of, naming
from benchmarker.records.store import Store, record_name
from benchmarker.worker.job import RankJob, RunJob

if TYPE_CHECKING:
    from benchmarker.orchestration.checkpoints import Checkpointing


class Orchestrator:
    """Runs an experiment.

    Parameters
    ----------
    store : Store
        Where records go.
    progress : Progress
        Who is told.
    accept : mapping
        Thresholds that every record is judged by; see :mod:`benchmarker.experiment.acceptance`.
    early_stop : bool
        Whether to leave out larger batch sizes once one has run out of memory.
    checkpointing : Checkpointing, optional
        What trainings do with checkpoints.

    Attributes
    ----------
    skipped : list of str
        Why each run that was left out was.
    troubles : list of str
        What became of each record that could not be written where it belongs.
    every : list of FinishedRun
        All that were made, and those that were finished before.
    """

    def __init__(
        self,
        store: Store,
        progress: Progress,
        *,
        accept: Mapping[str, float] | None = None,
        early_stop: bool = False,
        checkpointing: Checkpointing | None = None,
    ) -> None:
        self._store = store
        self._checkpointing = checkpointing
        self._progress = progress
        self._accept = accept or {}
        self._early_stop = early_stop
        self._full: dict[str, int] = {}
        """The smallest batch size that ran out of memory, by what runs have in common otherwise."""
        self.skipped: list[str] = []
        self.troubles: list[str] = []
        self.every: list[FinishedRun] = []
        self._collectors, self._broken_collectors = registry.collectors()
        self._interpreters: dict[tuple[str, str | None, str, bool, bool], Interpreter] = {}
        self._launchers: dict[tuple[str, int], Launcher] = {}
        self._preparing = threading.RLock()
        """Held while something is made that runs side by side would both make."""
        self._references = References(progress.note, self._interpreter, self._preparing)

    def run(
        self, campaign: Campaign, before: Callable[[RunSpec], FinishedRun | None] = lambda spec: None
    ) -> Iterator[FinishedRun]:
        """Run one after the other, each to a record; stop after one that the user interrupted.

        Parameters
        ----------
        campaign : Campaign
            Which run comes next.
        before : callable
            Returns the record of a run that was finished before, which is left out.

        Yields
        ------
        FinishedRun
            Of each run that was made.
        """
        try:
            yield from self._turns(campaign, before)
        finally:
            self._close_launchers()

    def run_in_turns(self, campaign: Campaign) -> Iterator[FinishedRun]:
        """Run two at a time, whose workers take turns; stop after one that the user interrupted.

        Parameters
        ----------
        campaign : Campaign
            Which runs come next; those of a pair follow each other.

        Yields
        ------
        FinishedRun
            Of each run that was made.
        """
        scheduled = campaign.turns()
        try:
            for number in itertools.count():
                together = list(itertools.islice(scheduled, SIDES))
                if not together:
                    return
                for index, turn in enumerate(together, number * SIDES):
                    self._progress.started(turn.spec, index, max(campaign.least, index + 1))
                finished = self._finish_together(campaign, together)
                self.every += finished
                yield from finished
                if any(run.interrupted for run in finished):
                    return
        finally:
            self._close_launchers()

    def _finish_together(self, campaign: Campaign, together: Sequence[ScheduledRun]) -> list[FinishedRun]:
        """Make runs whose workers take turns, store their records, and tell of them."""
        with contextlib.ExitStack() as folders:
            logs = [folders.enter_context(temporary_folder()) / "run.log" for _ in together]
            specs = [turn.spec for turn in together]
            records = take_turns([functools.partial(self._run_one, *run) for run in zip(specs, logs)])
            finished: list[FinishedRun] = []
            for turn, record, log in zip(together, records, logs):
                try:
                    finished.append(self._stored(campaign, turn, record, log))
                except FAULTS as error:
                    self._lose(turn.spec, error)
            return finished

    def _close_launchers(self) -> None:
        for launcher in self._launchers.values():
            launcher.close()

    def _turns(
        self, campaign: Campaign, before: Callable[[RunSpec], FinishedRun | None]
    ) -> Iterator[FinishedRun]:
        for index, turn in enumerate(campaign.turns()):
            known = before(turn.spec)
            if known is not None:
                campaign.take(turn, known.record)
                self.every.append(replace(known, cell=turn.cell))
                continue
            smallest = self._full.get(early_stop_key(turn.spec), turn.spec.batch_size)
            if self._early_stop and smallest < turn.spec.batch_size:
                self._skip(turn.spec, f"batch {smallest} ran out of memory")
                campaign.leave_out(turn)
                continue
            self._progress.started(turn.spec, index, max(campaign.least, index + 1))
            try:
                finished = self._finish(campaign, turn)
            except FAULTS as error:
                self._lose(turn.spec, error)
                continue
            self.every.append(finished)
            yield finished
            if finished.interrupted:
                return

    def _finish(self, campaign: Campaign, turn: ScheduledRun) -> FinishedRun:
        """Make a run, store its record, and tell of both."""
        with temporary_folder() as folder:
            log = folder / "run.log"
            return self._stored(campaign, turn, self._run_one(turn.spec, log), log)

    def _stored(
        self, campaign: Campaign, turn: ScheduledRun, record: dict[str, Any], log: Path
    ) -> FinishedRun:
        """Store the record of a run, and tell of it."""
        try:
            finished = self._keep(campaign, turn, record, log)
        except FAULTS as error:
            record = record_of(RunFacts.begin(turn.spec), unforeseen(error, log), log)
            finished = self._keep(campaign, turn, record, log)
        self._tell(finished, turn.spec)
        return finished

    def _keep(self, campaign: Campaign, turn: ScheduledRun, record: dict[str, Any], log: Path) -> FinishedRun:
        """Judge a record and store it."""
        spec = turn.spec
        record["acceptance"] = judge(record, self._accept)
        record["replication"] = campaign.take(turn, record)
        text = log_text(log)
        text = without_names(text, spec.problem.file) if spec.anonymous else text
        trace = trace_bytes(log) if record["profile"] else None
        trace = anonymous_trace(trace, spec.problem.file) if trace and spec.anonymous else trace
        try:
            path = self._store.save(record, text, trace)
        except StoreError as error:
            path = self._rescue(record, text, trace, error)
        return FinishedRun(naming(record, path.stem, attachments_of(path)), path, turn.cell)

    def _rescue(
        self, record: dict[str, Any], log_text: str | None, trace: bytes | None, error: StoreError
    ) -> Path:
        """Keep a record elsewhere, and tell where; what can be kept nowhere is at least told of."""
        from benchmarker.records.rescue import attempt, rescue

        path, sentence = attempt(functools.partial(rescue, record, log_text, trace), error)
        self._trouble(sentence)
        return path or self._store.folder / f"{record_name(record)}.json"

    def _tell(self, finished: FinishedRun, spec: RunSpec) -> None:
        record = finished.record
        self._progress.of(spec).finished(record, finished.path)
        expected = replication_status(record["replication"])
        if expected:
            self._progress.note(f"{spec.label}: {expected}")
        if record["status"] == "out_of_memory":
            key = early_stop_key(spec)
            self._full[key] = min(spec.batch_size, self._full.get(key, spec.batch_size))

    def _lose(self, spec: RunSpec, error: BaseException) -> None:
        """Go on without a run that has left no record."""
        self._progress.lost(spec)
        reason = str(error) if isinstance(error, BenchmarkerError) else first_line(error)
        self._trouble(f"{spec.label}: it left no record: {reason}")

    def _trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)
        self._progress.note(sentence)

    def _skip(self, spec: RunSpec, reason: str) -> None:
        self.skipped.append(f"{spec.label}: skipped, {reason}")
        self._progress.skipped(spec, reason)

    def _run_one(self, spec: RunSpec, log: Path, seat: Seat | None = None) -> dict[str, Any]:
        facts = RunFacts.begin(spec)
        try:
            plugin = registry.framework(spec.framework)
            reason = unsupported_reason(spec)
            if reason is not None:
                return record_of(facts, Failure("failed", "plan", "UnsupportedError", reason), log)
            _check_unchanged(spec)
            with self._preparing:
                interpreter = self._interpreter(spec, plugin)
                facts = replace(facts, interpreter=interpreter)
                data = prepared_data(spec)
            facts = replace(facts, data=data.description if data else None)
            job = run_job(spec, data, log)
            if self._checkpointing is not None:
                job = self._checkpointing.job(job, spec)
            with self._references.given(spec, job, log) as job:
                return self._measure(spec, plugin, interpreter, job, log, facts, seat)
        except KeyboardInterrupt:
            failed = Failure("interrupted", "prepare", "KeyboardInterrupt", "interrupted by the user")
            return record_of(facts, failed, log)
        except NoReference as error:
            return record_of(facts, error.failure, log, log_tail(log))
        except BenchmarkerError as error:
            return record_of(facts, Failure("failed", "prepare", type(error).__name__, str(error)), log)
        except FAULTS as error:
            return record_of(facts, unforeseen(error, log), log)

    def _measure(
        self,
        spec: RunSpec,
        plugin: FrameworkPlugin,
        interpreter: Interpreter,
        job: RunJob,
        log: Path,
        facts: RunFacts,
        seat: Seat | None,
    ) -> dict[str, Any]:
        session = CollectorSession if seat is None else UnwatchedSession
        collection = session(spec.shown, *self._monitors(spec))
        events = RunEvents(self._progress.of(spec), collection)
        settings, launcher = _settings(spec), self._launcher(spec.launcher, seat)
        if isinstance(job, RankJob):
            # Imported here, with all that ranks need: no other run does.
            from benchmarker.orchestration.rank_run import RankRun

            group = RankRun(spec, job, log).run(plugin, interpreter, settings, events, launcher, collection)
            answer = replace(group.answer, events=group.events, failure=group.failure, log_tail=group.tail)
            facts = replace(facts, ranks=group.ranks)
        else:
            handler: Handler = events.handle
            if seat is not None:
                job = replace(job, window_seconds=WINDOW_SECONDS, breakdown=False, trace=None)
                handler = seat.handler(handler)
            answer = run_isolated(
                job,
                plugin,
                interpreter,
                settings=settings,
                handler=handler,
                log=log,
                launcher=launcher,
                meanwhile=collection,
            )
        facts = replace(
            facts,
            worker_seconds=answer.seconds,
            ended_at=facts.now,
            environment_variables=answer.environment,
            compile_cache=answer.compile_cache,
            events=answer.events,
            platform=collection.readings,
            collectors=collection.statuses,
            monitors=collection.monitors,
        )
        checked = version_check(plugin, answer.events)
        if checked is not None and checked.unchecked is not None:
            self._progress.note(checked.unchecked)
        return record_of(facts, answer.failure, log, answer.log_tail)

    def _monitors(self, spec: RunSpec) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the collectors that the run wants, and why others of them are broken."""
        known = {*self._collectors, *self._broken_collectors}
        wanted = known if spec.monitors is None else known.intersection(spec.monitors)
        return (
            {name: own_copy(plugin) for name, plugin in self._collectors.items() if name in wanted},
            {name: why for name, why in self._broken_collectors.items() if name in wanted},
        )

    def _launcher(self, name: str, seat: Seat | None) -> Launcher:
        """Return the launcher of that name; a side has its own, since a warm server has one worker at a time."""
        key = (name, seat.side if seat else 0)
        if key not in self._launchers:
            self._launchers[key] = registry.launcher(name)
        return self._launchers[key]

    def _interpreter(self, spec: RunSpec, plugin: FrameworkPlugin) -> Interpreter:
        needs = (spec.device == "cuda", spec.ranks > 1)
        key = (plugin.name, spec.framework_version, spec.environment, *needs)
        if key not in self._interpreters:
            self._interpreters[key] = resolve(
                plugin,
                choice=spec.environment,
                version=spec.framework_version,
                cuda=spec.device == "cuda",
                ranks=spec.ranks > 1,
                progress=self._progress.note,
            )
        return self._interpreters[key]


def _settings(spec: RunSpec) -> ProcessSettings:
    return ProcessSettings(
        gpus=spec.gpus,
        affinity=spec.affinity,
        repetition=spec.repetition,
        start=spec.start,
        compile_cache=spec.compile_cache,
        timeout=spec.timeout,
        allocator=spec.allocator,
    )


def _check_unchanged(spec: RunSpec) -> None:
    """Refuse a file that is not what it was when the runs were planned: they would be of two problems."""
    if spec.problem.digest not in (None, registry.with_digest(spec.problem).digest):
        name = spec.problem.name
        raise UsageError(f"'{name}' must not change while its experiment runs, but it has")
