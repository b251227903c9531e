"""Experiment to isolated runs to records: the one place that knows the whole way."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.acceptance import judge
from benchmarker.anonymity import without_names
from benchmarker.campaign import Campaign, Turn, outlook
from benchmarker.collecting import Collecting
from benchmarker.compile_caches import CompileCacheUse, open_compile_cache
from benchmarker.data.prepared import PreparedData
from benchmarker.environments import Interpreter, resolve
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.experiment import RunSpec
from benchmarker.framework import Device, FrameworkPlugin
from benchmarker.launchers import Launcher, Outcome, WorkerCommand
from benchmarker.observation import Observation
from benchmarker.outcomes import Failure, failure, log_tail, oom_kills
from benchmarker.packages import package_folders
from benchmarker.planning import early_stop_key, prepared_data, refusal
from benchmarker.problem_files import file_of, recorded_name
from benchmarker.progress import Progress
from benchmarker.record import FinishedRun, RunFacts, make_record, step_cost
from benchmarker.references import (
    reference_folder,
    reference_job,
    reference_path,
    remove_least_recently_used,
    verification_samples,
)
from benchmarker.results.beside import TRACE, beside, naming
from benchmarker.store import Store
from benchmarker.worker.job import Job
from benchmarker.worker_environment import worker_environment

KEPT_LOG_BYTES = 1 << 20
REFERENCE_FRAMEWORK = "numpy"


class _NoReference(Exception):  # noqa: N818 - a run's end, not a fault of ours
    """The reference could not be computed."""

    def __init__(self, failed: Failure) -> None:
        super().__init__(failed.message)
        self.failure = failed


class Orchestrator:
    """Runs an experiment.

    Parameters
    ----------
    store : Store
        Where records go.
    progress : Progress
        Who is told.
    accept : mapping
        Thresholds that every record is judged by; see :mod:`benchmarker.acceptance`.
    early_stop : bool
        Whether to leave out larger batch sizes once one has run out of memory.

    Attributes
    ----------
    skipped : list of str
        Why each run that was left out was.
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
    ) -> None:
        self._store = store
        self._progress = progress
        self._accept = accept or {}
        self._early_stop = early_stop
        self._full: dict[str, int] = {}
        """The smallest batch size that ran out of memory, by what runs have in common otherwise."""
        self.skipped: list[str] = []
        self.every: list[FinishedRun] = []
        self._collectors, self._broken_collectors = registry.collectors()
        self._interpreters: dict[tuple[str, str | None, str, bool], Interpreter] = {}
        self._launchers: dict[str, Launcher] = {}

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
            finished = self._finish(campaign, turn)
            self.every.append(finished)
            yield finished
            if finished.interrupted:
                return

    def _finish(self, campaign: Campaign, turn: Turn) -> FinishedRun:
        """Make a run, store its record, and tell of both."""
        spec = turn.spec
        with tempfile.TemporaryDirectory(prefix="benchmarker-") as folder:
            log = Path(folder) / "run.log"
            record = self._run_one(spec, log)
            record["acceptance"] = judge(record, self._accept)
            record["replication"] = campaign.take(turn, record)
            text, trace = _log_text(log), _trace_beside(log)
            path = self._store.save(
                record,
                without_names(text, file_of(spec.problem)) if spec.anonymous else text,
                trace.read_bytes() if record["profile"] and trace.exists() else None,
            )
            record = naming(record, path.stem, beside(path))
        self._progress.finished(record, path)
        expected = outlook(record["replication"])
        if expected:
            self._progress.note(f"{spec.label}: {expected}")
        if record["status"] == "out_of_memory":
            key = early_stop_key(spec)
            self._full[key] = min(spec.batch_size, self._full.get(key, spec.batch_size))
        return FinishedRun(record, path, turn.cell)

    def _skip(self, spec: RunSpec, reason: str) -> None:
        self.skipped.append(f"{spec.label}: left out, {reason}")
        self._progress.skipped(spec, reason)

    def _run_one(self, spec: RunSpec, log: Path) -> dict[str, Any]:
        facts = RunFacts.begin(spec)
        try:
            plugin = registry.framework(spec.framework)
            reason = refusal(spec)
            if reason is not None:
                return make_record(facts, Failure("failed", "plan", "UnsupportedError", reason))
            _check_unchanged(spec)
            interpreter = self._interpreter(spec, plugin)
            facts = replace(facts, interpreter=interpreter)
            data = prepared_data(spec)
            facts = replace(facts, data=data.description if data else None)
            job = self._job(spec, data, log)
            if spec.verify:
                job = self._with_reference(spec, job, log)
            return self._measure(spec, plugin, interpreter, job, log, facts)
        except KeyboardInterrupt:
            return make_record(
                facts, Failure("interrupted", "prepare", "KeyboardInterrupt", "interrupted by the user")
            )
        except _NoReference as error:
            return make_record(facts, error.failure, log_tail(log))
        except BenchmarkerError as error:
            return make_record(facts, Failure("failed", "prepare", type(error).__name__, str(error)))

    def _measure(
        self,
        spec: RunSpec,
        plugin: FrameworkPlugin,
        interpreter: Interpreter,
        job: Job,
        log: Path,
        facts: RunFacts,
    ) -> dict[str, Any]:
        environment = worker_environment(spec, plugin)
        kills = oom_kills()
        with (
            open_compile_cache(
                spec.compile_cache, plugin.compile_caches, plugin.name, interpreter, environment
            ) as cache,
            Collecting(spec, *self._monitors(spec)) as collection,
        ):
            observation = Observation(self._progress, collection)
            environment |= cache.folders
            files = cache.files()
            command = WorkerCommand(
                interpreter.path,
                asdict(job),
                package_folders((job.framework, job.problem)),
                environment,
                spec.affinity,
                log,
                spec.timeout,
                spec.start,
            )
            start = time.monotonic()
            outcome = self._launcher(spec.launcher).launch(command, observation.handle)
            seconds, used = time.monotonic() - start, CompileCacheUse(cache, files, cache.files())
        facts = replace(
            facts,
            worker_seconds=seconds,
            ended_at=datetime.now(timezone.utc),
            environment_variables=environment,
            compile_cache=used,
            events=observation.events,
            platform=collection.readings,
            collectors=collection.statuses,
            monitors=collection.monitors,
        )
        failed = _failure(spec, outcome, observation, log, oom_kills() > kills)
        return make_record(facts, failed, log_tail(log) if failed else "")

    def _monitors(self, spec: RunSpec) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the collectors that the run wants, and why others of them are broken."""
        if spec.monitors is None:
            return self._collectors, self._broken_collectors
        return (
            {name: plugin for name, plugin in self._collectors.items() if name in spec.monitors},
            {name: why for name, why in self._broken_collectors.items() if name in spec.monitors},
        )

    def _launcher(self, name: str) -> Launcher:
        if name not in self._launchers:
            self._launchers[name] = registry.launcher(name)
        return self._launchers[name]

    def _interpreter(self, spec: RunSpec, plugin: FrameworkPlugin) -> Interpreter:
        key = (plugin.name, spec.framework_version, spec.environment, spec.device == "cuda")
        if key not in self._interpreters:
            self._interpreters[key] = resolve(
                plugin,
                choice=spec.environment,
                version=spec.framework_version,
                cuda=spec.device == "cuda",
                progress=self._progress.note,
            )
        return self._interpreters[key]

    def _job(self, spec: RunSpec, data: PreparedData | None, log: Path) -> Job:
        return Job(
            action="run",
            framework=registry.find("frameworks", spec.framework).value,
            problem=registry.find("problems", spec.problem).value,
            problem_parameters=spec.problem_parameters,
            framework_options=spec.framework_options,
            mode=spec.mode,
            batch_size=spec.batch_size,
            precision=spec.precision,
            optimizer=spec.optimizer,
            device=Device(spec.device),
            threads=spec.threads,
            seed=spec.seed,
            steps=spec.steps,
            warmup=spec.warmup,
            window_seconds=spec.window,
            data=str(data.folder) if data else None,
            inputs=spec.inputs,
            sampling=spec.sampling,
            target_seconds=spec.target_seconds,
            minimum_samples=spec.minimum_samples,
            breakdown=spec.breakdown,
            trace=str(_trace_beside(log)) if spec.breakdown else None,
            micro_batch=spec.micro_batch,
            fold_batch_norm=spec.fold_batch_norm,
            orchestrator=os.getpid(),
        )

    def _with_reference(self, spec: RunSpec, job: Job, log: Path) -> Job:
        """Return the job with its reference, computing that by an isolated run if it is not there yet."""
        flops = step_cost(spec).forward_flops / spec.batch_size
        samples = verification_samples(spec.batch_size, flops, spec.micro_batch)
        job = replace(job, verification_samples=samples)
        packages = package_folders((job.problem,))
        folder = reference_folder()
        path = reference_path(folder, job, packages)
        if path.exists():
            path.touch()
            return replace(job, reference=str(path))
        self._progress.note("computing the reference in NumPy (once for these weights and this mini-batch)")
        remove_least_recently_used(folder)
        plugin = registry.framework(REFERENCE_FRAMEWORK)
        reference_spec = RunSpec(REFERENCE_FRAMEWORK, spec.problem, threads=spec.threads, seed=spec.seed)
        observation = Observation(Progress())
        command = WorkerCommand(
            self._interpreter(reference_spec, plugin).path,
            reference_job(job, path),
            packages,
            worker_environment(reference_spec, plugin),
            (),
            log,
            spec.timeout,
        )
        kills = oom_kills()
        outcome = registry.launcher("local").launch(command, observation.handle)
        if outcome.ended_by == "interrupt":
            raise KeyboardInterrupt
        failed = _failure(spec, outcome, observation, log, oom_kills() > kills)
        if failed is not None:
            message = f"the reference could not be computed: {failed.message}; --no-verify runs without it"
            raise _NoReference(replace(failed, stage="reference", message=message))
        return replace(job, reference=str(path))


def _check_unchanged(spec: RunSpec) -> None:
    """Refuse a file that is not what it was when the runs were planned: they would be of two problems."""
    if spec.problem_digest not in (None, registry.problem_digest(spec.problem)):
        name = recorded_name(spec.problem)
        raise UsageError(f"'{name}' must stay as it is while its experiment goes on, and it was changed")


def _failure(
    spec: RunSpec, outcome: Outcome, observation: Observation, log: Path, killed_for_memory: bool
) -> Failure | None:
    return failure(
        outcome,
        observation.stage,
        observation.events.get("error"),
        observation.events.get("verification"),
        "result" in observation.events,
        log_tail(log),
        killed_for_memory,
        spec.timeout,
    )


def _trace_beside(log: Path) -> Path:
    """Return where the worker of a run leaves its trace."""
    return log.with_suffix(TRACE)


def _log_text(log: Path) -> str | None:
    """Return the run's log, the middle left out if it is very long."""
    try:
        data = log.read_bytes() if log.stat().st_size <= KEPT_LOG_BYTES else _ends(log)
    except OSError:
        return None
    return data.decode(errors="replace") or None


def _ends(log: Path) -> bytes:
    half = KEPT_LOG_BYTES // 2
    with open(log, "rb") as stream:
        head = stream.read(half)
        size = stream.seek(-half, 2) + half
        return head + f"\n... {size - 2 * half} bytes left out ...\n".encode() + stream.read()
