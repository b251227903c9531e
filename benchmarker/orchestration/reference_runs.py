"""References that are computed by isolated runs, each once for all runs that are verified with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.cache import evict, explain_unwritable, hold, release
from benchmarker.errors import ProtocolError
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.import_roots import import_roots
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.outcomes import Failure
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import RunSpec
from benchmarker.orchestration.events import RunEvents
from benchmarker.orchestration.references import (
    MAX_REFERENCE_BYTES,
    REFERENCE,
    in_parts,
    reference_folder,
    reference_job,
    reference_path,
    verification_samples,
)
from benchmarker.records.assembly.cost import step_cost
from benchmarker.worker.job import CollectiveJob, RunJob

MAX_ATTEMPTS = 3
"""At a reference: another process may evict it before it is held."""


class NoReference(Exception):  # noqa: N818 - a run's end, not a fault of ours
    """The reference could not be computed."""

    def __init__(self, failed: Failure) -> None:
        super().__init__(failed.message)
        self.failure = failed


def _could_not(reason: str, failed: Failure = Failure("failed", "", ProtocolError.__name__, "")) -> Failure:
    message = f"the reference could not be computed: {reason}; --no-verify runs without it"
    return replace(failed, stage="reference", message=message)


def _is_there(path: Path) -> bool:
    with explain_unwritable(path.parent, "references", ", or use --no-verify"):
        return hold(path)


class References:
    """Gives jobs their references.

    Parameters
    ----------
    note : callable
        Told of what takes time.
    interpreter : callable
        Returns that of a run's framework.
    making : context manager
        Held while one is made, which runs side by side would both make.
    """

    def __init__(
        self,
        note: Callable[[str], None],
        interpreter: Callable[[RunSpec, FrameworkPlugin], Interpreter],
        making: AbstractContextManager[bool],
    ) -> None:
        self._note = note
        self._interpreter = interpreter
        self._making = making

    @contextmanager
    def given(self, spec: RunSpec, job: RunJob, log: Path) -> Iterator[RunJob]:
        """Give the job with its reference, which no process evicts meanwhile.

        Raises
        ------
        NoReference
            If it cannot be computed.
        """
        if not spec.verify or isinstance(job, CollectiveJob):
            yield job
            return
        flops = step_cost(spec).forward_flops / spec.batch_size
        alike = in_parts(job)
        alike = replace(alike, verification_samples=verification_samples(alike, flops))
        job = replace(job, verification_samples=alike.verification_samples)
        folder = reference_folder()
        path = reference_path(folder, alike, import_roots((job.problem,)))
        with self._making:
            for _ in range(MAX_ATTEMPTS):
                if _is_there(path):
                    break
                evict(folder, "*.npz", max_bytes=MAX_REFERENCE_BYTES)
                self._compute(spec, alike, path, log)
            else:
                raise NoReference(_could_not("its worker said that it was done, but left no file of it"))
        try:
            yield replace(job, reference=str(path))
        finally:
            release(path)

    def _compute(self, spec: RunSpec, job: RunJob, path: Path, log: Path) -> None:
        self._note("computing the reference in NumPy (once for these weights and this mini-batch)")
        plugin = registry.framework(REFERENCE)
        answer = run_isolated(
            reference_job(job, path),
            plugin,
            self._interpreter(RunSpec(REFERENCE, spec.problem), plugin),
            settings=ProcessSettings(timeout=spec.timeout),
            handler=RunEvents(Progress()).handle,
            log=log,
        )
        failed = answer.failure_unless_interrupted()
        if failed is not None:
            raise NoReference(_could_not(failed.message, failed))
