"""What is asked of a comparison of frameworks, and what makes no sense in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from benchmarker.api.problem_scheme import ProblemReference
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.experiment.faults import faults
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.settings import single_values
from benchmarker.experiment.spec import Experiment, RunSpec
from benchmarker.experiment.suitability import unsupported_reason, without_interpreter
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification.probes import OWN, PROBES

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
    device: str = "cpu"
    precision: str = "fp32"
    seed: int = 42
    threads: int | None = None
    timeout: float | None = None
    environment: str = "auto"


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
    if request.precision == "int8":
        raise UsageError(
            "--precision=int8 is for runs of inference, which verify it themselves, not for 'verify'"
        )
    _require_once("framework", request.frameworks)
    _require_once("problem", request.problems)
    single_values(request.settings, "verify")
    for fault in faults(_experiment(request)):
        raise UsageError(fault.message)
    if "full" in request.sizes and len(request.frameworks) < 2:
        raise UsageError(
            f"at full size, frameworks are compared with each other, so there must be two or more, got "
            f"'{request.frameworks[0]}' alone; name another, or use --size=reduced"
        )
    unsupported_reasons = [
        framework_unsupported_reason(request, framework) for framework in request.frameworks
    ]
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
        devices=(request.device,),
        precisions=(request.precision,),
        seeds=(request.seed,),
        threads=() if request.threads is None else (request.threads,),
        steps=(request.steps,),
        timeout=request.timeout,
        environments=(request.environment,),
    )


def framework_unsupported_reason(request: VerificationRequest, framework: str) -> str | None:
    """Return why the framework cannot do what is asked, or None."""
    plugin, version = parse_framework(framework)
    run = RunSpec(
        plugin.name,
        ProblemReference.parse(request.problems[0]),
        framework_version=version,
        mode="training" if "training" in plugin.modes else "inference",
        device=request.device,
        precision=request.precision,
        environment=request.environment,
    )
    return unsupported_reason(run) or without_interpreter(run)
