"""Proving, outside of any timing, that frameworks compute a problem's function: each in its own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarker import registry
from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.api.launcher import Event
from benchmarker.api.suite import Request
from benchmarker.cache import temporary_folder
from benchmarker.errors import BenchmarkerError, UnsupportedError, first_line
from benchmarker.execution.environments import resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.settings import choices, chosen_options
from benchmarker.machine.threads import default_threads
from benchmarker.orchestration.jobs.equivalence_report import EquivalenceReport, FrameworkVerdict
from benchmarker.orchestration.jobs.equivalence_request import (
    VerificationRequest,
    framework_unsupported_reason,
)
from benchmarker.orchestration.references import REFERENCE
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.other_jobs import ProbesJob
from benchmarker.worker.verification.equivalence import Quantity, TieFinding, as_expected, compare
from benchmarker.worker.verification.findings import Check
from benchmarker.worker.verification.probes import COMPARED, LATER, PROBES
from benchmarker.worker.verification.reference import load
from benchmarker.worker.verification.tolerances import Expected, floor_of, tolerance_reason


class _Unable(Exception):  # noqa: N818 - not a fault
    """The framework cannot run the problem; the text says why."""


class _Failed(Exception):  # noqa: N818 - the framework's end, not a fault of ours
    """The framework's process did not come to its end; the text says why."""


@dataclass(frozen=True)
class _Found:
    version: str | None
    tensors: list[Expected]
    digests: dict[str, str]
    trajectory: Path
    seeds: dict[str, list[int]]
    ties: tuple[TieFinding, ...]
    checks: tuple[Check, ...]


class _Judged(NamedTuple):
    version: str | None
    quantities: Sequence[Quantity]
    ties: tuple[TieFinding, ...]
    checks: tuple[Check, ...]


_NOTES = {
    "reference": "the reference",
    "stepwise": "the reference, from the weights of each step",
    "found": "{name} at {size} size",
    "moved": "{name} at {size} size, again, to see what rounding does",
}


def _mode(request: str) -> str:
    """Return what a framework is asked for: without training its graph has no loss, and other inputs."""
    return "training" if "training" in parse_framework(request)[0].modes else "inference"


class _Verifier:
    def __init__(
        self, name: str, request: VerificationRequest, folder: Path, note: Callable[[str], None]
    ) -> None:
        self._name = name
        self._problem = registry.problem(name)
        self._request = request
        self._folder = folder
        self._note = note
        self._files = 0
        self._seeds: dict[tuple[str, str], dict[str, list[int]]] = {}

    def parameters(self, size: str) -> dict[str, Any]:
        reduced = self._problem.reduced if size == "reduced" else {}
        (chosen,) = choices(
            Request(self._problem.name), self._request.settings, self._problem.name, self._problem.parameters
        )
        return self._problem.configure({**reduced, **chosen})

    def batch_size(self, size: str) -> int:
        if size == "reduced":
            return self._problem.reduced_batch_size
        return self._request.batch_size or self._problem.batch_size

    def floor(self, size: str) -> float:
        graph = self._problem.graph(self.batch_size(size), **self.parameters(size))
        return floor_of(graph.operators, self._request.device)

    def verdicts(self) -> list[FrameworkVerdict]:
        found = []
        if "reduced" in self._request.sizes:
            found += self._against_the_reference()
        if "full" in self._request.sizes:
            found += self._against_each_other()
        return found

    def _against_the_reference(self) -> list[FrameworkVerdict]:
        references: dict[str, _Found] = {}
        for mode in dict.fromkeys(map(_mode, self._request.frameworks)):
            references[mode] = self._probes(REFERENCE, "reduced", what="reference", mode=mode)
            self._seeds["reduced", mode] = references[mode].seeds
        judge = partial(self._against_reference, references)
        against = f"{REFERENCE} {next(iter(references.values())).version} in float64"
        return [self._verdict(request, "reduced", against, judge) for request in self._request.frameworks]

    def _against_reference(self, references: Mapping[str, _Found], request: str) -> _Judged:
        found, reference = self._probes(request, "reduced"), references[_mode(request)]
        if found.digests != reference.digests:
            raise _Failed("it started from different weights or mini-batches than the reference")
        expected = reference.tensors
        if any(tensor.kind not in COMPARED for tensor in found.tensors):
            expected = expected + self._stepwise(found).tensors
        quantities = compare(expected, found.tensors, self._request.precision, self.floor("reduced"))
        return _Judged(found.version, quantities, found.ties, found.checks)

    def _stepwise(self, found: _Found) -> _Found:
        """Return what the reference makes of each step, from the weights that the framework had."""
        try:
            return self._probes(REFERENCE, "reduced", what="stepwise", trajectory=found.trajectory)
        except _Failed as reason:
            raise BenchmarkerError(f"the reference could not follow its training: {reason}") from None

    def _against_each_other(self) -> list[FrameworkVerdict]:
        """Compare every framework with the first that can run the problem, in its own mode if that one has it."""
        verdicts: list[FrameworkVerdict] = []
        first: dict[str, tuple[str, str, _Found, list[Expected]]] = {}

        def start(mode: str, request: str) -> _Found:
            found = self._probes(request, "full", mode=mode)
            moved = self._probes(request, "full", what="moved", mode=mode)
            name = f"{parse_framework(request)[0].name} {found.version}"
            first[mode] = name, request, found, as_expected(found.tensors, moved.tensors)
            return found

        def judge(request: str) -> _Judged:
            mode = _mode(request)
            if mode not in first:
                leaders = [leader for _, leader, *_ in first.values() if _mode(leader) == "training"]
                if not leaders:
                    return _Judged(start(mode, request).version, [], (), ())
                start(mode, leaders[0])
            found = self._probes(request, "full")
            _, _, other, expected = first[mode]
            if found.digests != other.digests:
                raise _Failed("it started from different weights or mini-batches than the first framework")
            quantities = compare(expected, found.tensors, self._request.precision, self.floor("full"))
            return _Judged(found.version, quantities, found.ties, found.checks)

        for request in self._request.frameworks:
            against = next((name for name, *_ in first.values()), "")
            verdict = self._verdict(request, "full", against, judge)
            if verdict.quantities or verdict.failure or verdict.unable:
                verdicts.append(verdict)
        return verdicts

    def _verdict(
        self,
        request: str,
        size: str,
        against: str,
        judge: Callable[[str], _Judged],
    ) -> FrameworkVerdict:
        plugin = parse_framework(request)[0]
        options = chosen_options(plugin, self._request.settings, "verify")
        verdict = FrameworkVerdict(plugin.name, None, size, against, options=options)
        refused = framework_unsupported_reason(self._request, request)
        if refused is not None:
            return replace(verdict, unable=refused)
        try:
            judged = judge(request)
        except _Unable as reason:
            return replace(verdict, unable=str(reason))
        except (_Failed, BenchmarkerError, ValueError) as error:
            return replace(verdict, failure=str(error))
        except Exception as error:  # the files that are compared are the worker's, and hold whatever it wrote
            return replace(verdict, failure=f"what it computed cannot be compared: {first_line(error)}")
        return replace(
            verdict,
            version=judged.version,
            quantities=tuple(judged.quantities),
            ties=judged.ties,
            checks=judged.checks,
        )

    def _probes(
        self,
        request: str,
        size: str,
        *,
        what: str = "found",
        trajectory: Path | None = None,
        mode: str | None = None,
    ) -> _Found:
        plugin, version = parse_framework(request)
        self._note(f"{self._problem.name}: computing {_NOTES[what].format(name=plugin.name, size=size)}")
        self._files += 1
        path = self._folder / f"probes{self._files}.npz"
        trajectory = trajectory or self._folder / f"trajectory{self._files}.npz"
        result = self._result(
            plugin, version, self._job(plugin, size, path, what, trajectory, mode or _mode(request))
        )
        tensors, digests = load(path, f"file that {plugin.name} left")
        ties = tuple(TieFinding(**tie) for tie in result["ties"])
        checks = tuple(Check(**check) for check in result["checks"])
        return _Found(result.get("version"), tensors, digests, trajectory, result["seeds"], ties, checks)

    def _job(
        self, plugin: FrameworkPlugin, size: str, path: Path, what: str, trajectory: Path, mode: str
    ) -> ProbesJob:
        return ProbesJob(
            framework=registry.find("frameworks", plugin.name).value,
            device=self._device(plugin),
            threads=self._request.threads or default_threads(),
            seed=self._request.seed,
            problem=registry.find("problems", self._name).value,
            problem_parameters=self.parameters(size),
            mode=mode,
            batch_size=self.batch_size(size),
            precision=self._request.precision,
            framework_options=chosen_options(plugin, self._request.settings, "verify"),
            what="found" if what == "moved" else what,
            path=str(path),
            trajectory=str(trajectory),
            probes=self._probe_names(size),
            steps=self._request.steps,
            seeds=self._seeds.get((size, mode), {}),
            moved=what == "moved",
        )

    def _device(self, plugin: FrameworkPlugin) -> Device:
        return Device("cpu" if plugin.name == REFERENCE else self._request.device)

    def _probe_names(self, size: str) -> tuple[str, ...]:
        """Return the optimizers to train with; at full size nothing could follow later steps."""
        if size == "full":
            return self._request.probes
        return (*(self._request.probes or PROBES), LATER)

    def _result(self, plugin: FrameworkPlugin, version: str | None, job: ProbesJob) -> Event:
        choice = self._request.environment
        cuda = job.device.type == "cuda"
        interpreter = resolve(plugin, choice=choice, version=version, cuda=cuda, progress=self._note)
        settings = ProcessSettings(gpus=(0,) if cuda else (), timeout=self._request.timeout)
        answer = run_isolated(job, plugin, interpreter, settings=settings, log=self._folder / "run.log")
        failed = answer.failure_unless_interrupted()
        if failed is not None:
            kind = _Unable if failed.type == UnsupportedError.__name__ else _Failed
            raise kind(failed.message)
        return answer.events["result"]


def verify_problem(
    name: str, request: VerificationRequest, note: Callable[[str], None] = lambda text: None
) -> EquivalenceReport:
    """Compare what frameworks compute of a problem.

    Parameters
    ----------
    name : str
        The problem's, one of those in the request.
    request : VerificationRequest
        What to compare, and how, as :func:`checked` returned it.
    note : callable
        Told of what takes time.

    Raises
    ------
    UsageError
        On an impossible size.
    BenchmarkerError
        If the reference itself cannot be computed.
    """
    problem = registry.problem(name)
    with temporary_folder() as folder:
        verifier = _Verifier(name, request, folder, note)
        for size in request.sizes:
            problem.graph(verifier.batch_size(size), **verifier.parameters(size))  # refuses impossible sizes
        try:
            verdicts = verifier.verdicts()
        except (_Unable, _Failed) as error:
            raise BenchmarkerError(f"the reference of '{name}' could not be computed: {error}") from None
        return EquivalenceReport(
            problem.name,
            {size: verifier.parameters(size) for size in request.sizes},
            {size: verifier.batch_size(size) for size in request.sizes},
            request.device,
            request.steps,
            tolerance_reason(request.precision, max(map(verifier.floor, request.sizes))),
            tuple(verdicts),
        )
