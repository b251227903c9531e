"""Proving, outside of any timing, that frameworks compute a problem's function: each in its own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarker import registry
from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.api.launcher import Event
from benchmarker.api.scheme import ProblemReference
from benchmarker.api.suite import Request
from benchmarker.cache import temporary_folder
from benchmarker.errors import BenchmarkerError, UnsupportedError, UsageError, did_you_mean
from benchmarker.execution.environments import resolve
from benchmarker.execution.isolated import run_isolated
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.faults import faults
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.settings import choices, chosen_options, single_values
from benchmarker.experiment.spec import Experiment, RunSpec
from benchmarker.experiment.suitability import unsupported_reason, without_interpreter
from benchmarker.machine.threads import default_threads
from benchmarker.orchestration.references import REFERENCE
from benchmarker.worker.other_jobs import ProbesJob
from benchmarker.worker.verification.equivalence import Quantity, TieFinding, as_expected, compare
from benchmarker.worker.verification.probes import COMPARED, OWN, PROBES
from benchmarker.worker.verification.reference import load
from benchmarker.worker.verification.tolerances import Expected, tolerance_reason

SIZES = ("reduced", "full")


@dataclass(frozen=True)
class VerificationRequest:
    """What to verify.

    Parameters
    ----------
    frameworks : tuple of str
        ``name`` or ``name==version``.
    problems : tuple of str
        Names.
    settings : mapping
        Name of a parameter of the problem (at both sizes) or of an option of the framework to its one value.
    batch_size : int or None
        At full size; None takes the problem's own.
    sizes : tuple of str
        ``reduced``: against the reference; ``full``: against each other. Empty for all that are possible.
    probes : tuple of str
        Optimizers to train with, ``steps`` steps each; empty for all of them at reduced size, and none at
        full size.
    """

    frameworks: tuple[str, ...]
    problems: tuple[str, ...]
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    batch_size: int | None = None
    sizes: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    steps: int = 3
    precision: str = "fp32"
    seed: int = 42
    threads: int | None = None
    timeout: float | None = None
    environment: str = "auto"


@dataclass(frozen=True)
class FrameworkVerdict:
    """What was found of one framework at one size; ``options`` are all that it has, with their values."""

    framework: str
    version: str | None
    size: str
    against: str
    quantities: tuple[Quantity, ...] = ()
    failure: str | None = None
    unable: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    ties: tuple[TieFinding, ...] = ()

    @property
    def status(self) -> str:
        """``passed``, ``failed``, ``inconclusive``, or ``unable`` if it lacks an operator."""
        if self.unable is not None:
            return "unable"
        found = {quantity.status for quantity in self.quantities}
        found |= {"failed" for tie in self.ties if tie.fault is not None}
        if self.failure is not None or "failed" in found or not found:
            return "failed"
        return "inconclusive" if "inconclusive" in found else "passed"

    def to_json(self) -> dict[str, Any]:
        return {
            "framework": self.framework,
            "version": self.version,
            "options": dict(self.options),
            "size": self.size,
            "against": self.against,
            "status": self.status,
            "failure": self.failure,
            "unable": self.unable,
            "quantities": [quantity.to_json() for quantity in self.quantities],
            "ties": [asdict(tie) for tie in self.ties],
        }


@dataclass(frozen=True)
class EquivalenceReport:
    """What was found of a problem."""

    problem: str
    parameters: dict[str, dict[str, Any]]
    batch_sizes: dict[str, int]
    steps: int
    tolerance_reason: str
    verdicts: tuple[FrameworkVerdict, ...]

    @property
    def status(self) -> str:
        """``failed`` if something differs, ``passed`` if all that can run agrees, else ``inconclusive``."""
        statuses = {verdict.status for verdict in self.verdicts} - {"unable"}
        if "failed" in statuses:
            return "failed"
        return "passed" if statuses == {"passed"} else "inconclusive"

    def to_json(self) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "status": self.status,
            "parameters": self.parameters,
            "batch_sizes": self.batch_sizes,
            "steps": self.steps,
            "tolerance_reason": self.tolerance_reason,
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }


def checked(request: VerificationRequest) -> VerificationRequest:
    """Return the request with its sizes filled in.

    Raises
    ------
    UsageError
        On what makes no sense in it, or if none of its frameworks can do what it asks.
    """
    for kind, values, known in (
        ("size", request.sizes, SIZES),
        ("optimizer", request.probes, (*PROBES, OWN)),
    ):
        for value in values:
            if value not in known:
                raise UsageError(f"unknown {kind} '{value}'{did_you_mean(value, known)}")
        _require_once(kind, values)
    _require_once("framework", request.frameworks)
    _require_once("problem", request.problems)
    single_values(request.settings, "verify")
    for fault in faults(_experiment(request)):
        raise UsageError(fault.message)
    if "full" in request.sizes and len(request.frameworks) < 2:
        raise UsageError(
            f"at full size frameworks are compared with each other, which takes two or more, got "
            f"'{request.frameworks[0]}' alone; name another one, or use --size=reduced"
        )
    unsupported_reasons = [_unsupported_reason(request, framework) for framework in request.frameworks]
    if all(unsupported_reasons):
        raise UsageError(str(unsupported_reasons[0]))
    return replace(request, sizes=request.sizes or SIZES[: len(request.frameworks)])


def _require_once(kind: str, values: Sequence[str]) -> None:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise UsageError(f"{kind} '{value}' is named twice")


def _experiment(request: VerificationRequest) -> Experiment:
    """Return the run that asks the same, whose checks hold here too."""
    return Experiment(
        request.frameworks,
        request.problems,
        settings=request.settings,
        batch_sizes=() if request.batch_size is None else (request.batch_size,),
        precisions=(request.precision,),
        seeds=(request.seed,),
        threads=() if request.threads is None else (request.threads,),
        steps=(request.steps,),
        timeout=request.timeout,
        environments=(request.environment,),
    )


def _unsupported_reason(request: VerificationRequest, framework: str) -> str | None:
    """Return why the framework cannot do what is asked, or None."""
    plugin, version = parse_framework(framework)
    run = RunSpec(
        plugin.name,
        ProblemReference.parse(request.problems[0]),
        framework_version=version,
        mode="training" if "training" in plugin.modes else "inference",
        precision=request.precision,
        environment=request.environment,
    )
    return unsupported_reason(run) or without_interpreter(run)


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


class _Judged(NamedTuple):
    version: str | None
    quantities: Sequence[Quantity]
    ties: tuple[TieFinding, ...]


_NOTES = {
    "reference": "the reference",
    "stepwise": "the reference, from the weights of each step",
    "found": "{name} at {size} size",
    "moved": "{name} at {size} size, again, to see what rounding does",
}


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
        self._seeds: dict[str, dict[str, list[int]]] = {}

    def parameters(self, size: str) -> dict[str, Any]:
        reduced = self._problem.reduced if size == "reduced" else {}
        (asked,) = choices(
            Request(self._problem.name), self._request.settings, self._problem.name, self._problem.parameters
        )
        return self._problem.configure({**reduced, **asked})

    def batch_size(self, size: str) -> int:
        if size == "reduced":
            return self._problem.reduced_batch_size
        return self._request.batch_size or self._problem.batch_size

    def verdicts(self) -> list[FrameworkVerdict]:
        found = []
        if "reduced" in self._request.sizes:
            found += self._against_the_reference()
        if "full" in self._request.sizes:
            found += self._against_each_other()
        return found

    def _against_the_reference(self) -> list[FrameworkVerdict]:
        reference = self._probes(REFERENCE, "reduced", what="reference")
        self._seeds["reduced"] = reference.seeds
        judge = partial(self._against_reference, reference)
        against = f"{REFERENCE} {reference.version} in float64"
        return [self._verdict(request, "reduced", against, judge) for request in self._request.frameworks]

    def _against_reference(self, reference: _Found, request: str) -> _Judged:
        found = self._probes(request, "reduced")
        if found.digests != reference.digests:
            raise _Failed("it started from other weights or mini-batches than the reference")
        expected = reference.tensors
        if any(tensor.kind not in COMPARED for tensor in found.tensors):
            expected = expected + self._stepwise(found).tensors
        quantities = compare(expected, found.tensors, self._request.precision)
        return _Judged(found.version, quantities, found.ties)

    def _stepwise(self, found: _Found) -> _Found:
        """Return what the reference makes of each step, from the weights that the framework had."""
        try:
            return self._probes(REFERENCE, "reduced", what="stepwise", trajectory=found.trajectory)
        except _Failed as reason:
            raise BenchmarkerError(f"the reference could not follow its training: {reason}") from None

    def _against_each_other(self) -> list[FrameworkVerdict]:
        """Compare every framework with the first that can run the problem."""
        verdicts: list[FrameworkVerdict] = []
        first: list[tuple[str, _Found, list[Expected]]] = []

        def judge(request: str) -> _Judged:
            found = self._probes(request, "full")
            if not first:
                moved = self._probes(request, "full", what="moved")
                name = parse_framework(request)[0].name
                first.append((f"{name} {found.version}", found, as_expected(found.tensors, moved.tensors)))
                return _Judged(found.version, [], ())
            _, other, expected = first[0]
            if found.digests != other.digests:
                raise _Failed("it started from other weights or mini-batches than the first framework")
            quantities = compare(expected, found.tensors, self._request.precision)
            return _Judged(found.version, quantities, found.ties)

        for request in self._request.frameworks:
            verdict = self._verdict(request, "full", first[0][0] if first else "", judge)
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
        refused = _unsupported_reason(self._request, request)
        if refused is not None:
            return replace(verdict, unable=refused)
        try:
            judged = judge(request)
        except _Unable as reason:
            return replace(verdict, unable=str(reason))
        except (_Failed, BenchmarkerError, ValueError) as error:
            return replace(verdict, failure=str(error))
        return replace(verdict, version=judged.version, quantities=tuple(judged.quantities), ties=judged.ties)

    def _probes(
        self, request: str, size: str, *, what: str = "found", trajectory: Path | None = None
    ) -> _Found:
        plugin, version = parse_framework(request)
        self._note(f"{self._problem.name}: computing {_NOTES[what].format(name=plugin.name, size=size)}")
        self._files += 1
        path = self._folder / f"probes{self._files}.npz"
        trajectory = trajectory or self._folder / f"trajectory{self._files}.npz"
        result = self._result(plugin, version, self._job(plugin, size, path, what, trajectory))
        tensors, digests = load(path)
        ties = tuple(TieFinding(**tie) for tie in result["ties"])
        return _Found(result.get("version"), tensors, digests, trajectory, result["seeds"], ties)

    def _job(self, plugin: FrameworkPlugin, size: str, path: Path, what: str, trajectory: Path) -> ProbesJob:
        return ProbesJob(
            framework=registry.find("frameworks", plugin.name).value,
            device=Device("cpu"),
            threads=self._request.threads or default_threads(),
            seed=self._request.seed,
            problem=registry.find("problems", self._name).value,
            problem_parameters=self.parameters(size),
            mode="training" if "training" in plugin.modes else "inference",
            batch_size=self.batch_size(size),
            precision=self._request.precision,
            framework_options=chosen_options(plugin, self._request.settings, "verify"),
            what="found" if what == "moved" else what,
            path=str(path),
            trajectory=str(trajectory),
            probes=self._request.probes or (tuple(PROBES) if size == "reduced" else ()),
            steps=self._request.steps,
            seeds=self._seeds.get(size, {}),
            moved=what == "moved",
        )

    def _result(self, plugin: FrameworkPlugin, version: str | None, job: ProbesJob) -> Event:
        choice = self._request.environment
        interpreter = resolve(plugin, choice=choice, version=version, cuda=False, progress=self._note)
        settings = ProcessSettings(timeout=self._request.timeout)
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
            request.steps,
            tolerance_reason(request.precision),
            tuple(verdicts),
        )
