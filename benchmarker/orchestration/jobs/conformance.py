"""The conformance suite in an isolated process, under the framework's own interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import Device, FrameworkPlugin
from benchmarker.api.launcher import Event
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError, require
from benchmarker.execution.environments import resolve
from benchmarker.execution.environments.gpu_driver import driver_fault
from benchmarker.execution.import_roots import import_roots
from benchmarker.execution.isolated import Answer, run_isolated
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.options import OPTIONS
from benchmarker.experiment.setting_faults import setting_faults
from benchmarker.experiment.settings import choices, chosen_options
from benchmarker.machine.threads import default_threads
from benchmarker.orchestration.jobs.unpack_onnx import node_tests
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.job import Job
from benchmarker.worker.other_jobs import (
    ConformanceJob,
    NodeTestsJob,
    OperatorGradientsJob,
    ProblemGradientsJob,
)

SEED = 0
"""Of all values that a framework is checked on."""
MAX_CRASHES = 50
"""Of workers, after which the node tests are given up: each of the others cost the test that it died in."""
CHECKING = "check"
"""The stage of a worker that runs them."""


@dataclass(frozen=True)
class CheckReport:
    """What the suite found.

    Parameters
    ----------
    framework : str
        Its name.
    version : str or None
        Its version, if the worker lived to tell.
    results : tuple of dict
        One for each check: name, status, detail, error, tolerance.
    failure : str or None
        Why the suite did not come to its end.
    log_tail : str
        The worker's last lines if it did not.
    options : mapping
        Every option of the framework, with the value that it was checked with.
    """

    framework: str
    version: str | None
    results: tuple[dict[str, Any], ...]
    failure: str | None
    log_tail: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the framework conforms."""
        return self.failure is None and self.count("failed") == 0 and self.count("passed") > 0

    def count(self, status: str) -> int:
        """Return how many checks have that status."""
        return sum(result["status"] == status for result in self.results)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


@dataclass(frozen=True)
class GradientRequest:
    """Which gradients are checked.

    Parameters
    ----------
    problem : str or None
        Those of a problem at its reduced size; None for those of every operator.
    """

    problem: str | None = None

    def require(self, plugin: FrameworkPlugin, device: str) -> None:
        """Refuse a framework that has no gradients, or not in float64.

        Raises
        ------
        UsageError
            With what it has.
        """
        precisions = plugin.precisions.get(device, ())
        if "fp64" not in precisions:
            raise UsageError(
                f"gradients are checked in precision fp64, and framework '{plugin.name}' has "
                f"{', '.join(precisions) or 'none'} on the {device}"
            )
        if "gradient" not in plugin.modes:
            raise UsageError(
                f"gradients are checked in mode gradient, and framework '{plugin.name}' has {', '.join(plugin.modes)}"
            )

    def job(
        self,
        framework: str,
        device: Device,
        threads: int,
        settings: Mapping[str, tuple[str, ...]],
        options: Mapping[str, Any],
    ) -> Job:
        """Return the job that checks them.

        Parameters
        ----------
        framework : str
            Value of the plugin's entry point.
        device, threads : Device, int
            Where.
        settings : mapping
            Among them the problem's parameters that are other than in its reduced size.
        options : mapping
            Of the framework.

        Raises
        ------
        UsageError
            On settings that the problem does not take.
        """
        if self.problem is None:
            return OperatorGradientsJob(framework, device, threads, SEED, framework_options=options)
        problem = registry.problem(self.problem)
        (chosen,) = choices(Request(problem.name), settings, problem.name, problem.parameters)
        return ProblemGradientsJob(
            framework=framework,
            device=device,
            threads=threads,
            seed=SEED,
            problem=registry.find("problems", self.problem).value,
            problem_parameters=problem.configure({**problem.reduced, **chosen}),
            mode="gradient",
            batch_size=problem.reduced_batch_size,
            precision="fp64",
            framework_options=options,
        )


def check_framework(
    request: str,
    *,
    environment: str = "auto",
    device: str = "cpu",
    threads: int | None = None,
    timeout: float | None = None,
    onnx: bool = False,
    gradients: GradientRequest | None = None,
    only: Sequence[str] = (),
    settings: Mapping[str, tuple[str, ...]] | None = None,
    note: Callable[[str], None] = lambda text: None,
    show: Callable[[dict[str, Any]], None] = lambda result: None,
) -> CheckReport:
    """Run the suite over a framework.

    Parameters
    ----------
    request : str
        ``name`` or ``name==version``.
    environment, device, threads, timeout
        As in :class:`~benchmarker.experiment.spec.RunSpec`.
    onnx : bool
        Whether to run the ONNX project's node tests instead of the suite.
    gradients : GradientRequest, optional
        Check gradients against differences in float64 instead.
    only : sequence of str
        Patterns of the names of the suite's checks to run; all where there are none.
    settings : mapping, optional
        Name of an option of the framework, or of a parameter of the problem whose gradients are checked, to its
        one value.
    note, show : callable
        Told of what takes time, and of each result as it comes.
    """
    plugin, version = parse_framework(request)
    for name, value in (("threads", threads), ("timeout", timeout)):
        OPTIONS[name].check(value)
    _require_fitting(only)
    settings = settings or {}
    options = _options(plugin, device, gradients, settings)
    cuda = device == "cuda"
    interpreter = resolve(plugin, choice=environment, version=version, cuda=cuda, progress=note)
    job_arguments = (Device(device), threads, settings, options)
    job = _job(plugin, *job_arguments, onnx=onnx, gradients=gradients, only=only, note=note)
    results: list[dict[str, Any]] = []

    def handle(event: Event) -> None:
        if event["event"] == "check":
            results.append({name: value for name, value in event.items() if name != "event"})
            show(results[-1])

    process = ProcessSettings(gpus=(0,) if cuda else (), timeout=timeout)

    def ask(job: Job) -> Answer:
        return run_isolated(job, plugin, interpreter, settings=process, handler=handle)

    answer = _over_all_tests(job, ask, results, note) if isinstance(job, NodeTestsJob) else ask(job)
    failed = answer.failure_unless_interrupted()
    reported_version, why = answer.events.get("result", {}).get("version"), failed.message if failed else None
    return CheckReport(plugin.name, reported_version, tuple(results), why, answer.log_tail, options)


def _over_all_tests(
    job: NodeTestsJob, ask: Callable[[Job], Answer], results: Sequence[Any], note: Callable[[str], None]
) -> Answer:
    """Run the node tests, by further workers after those that a test has ended; return how the last one ended."""
    answer = ask(job)
    for _ in range(MAX_CRASHES):
        failed = answer.failure_unless_interrupted()
        if failed is None or (failed.status, failed.stage) != ("crashed", CHECKING):
            break
        note(f"{failed.message}; going on after the node test that it ran")
        answer = ask(replace(job, skip=len(results) + 1, crash=failed.message))
    return answer


def _options(
    plugin: FrameworkPlugin,
    device: str,
    gradients: GradientRequest | None,
    settings: Mapping[str, tuple[str, ...]],
) -> dict[str, Any]:
    """Return every option of the framework.

    Raises
    ------
    UsageError
        On settings that nobody takes, or with several values, and if it lacks the device, a program, or gradients to
        be checked.
    """
    missing = plugin.device_fault(device) or driver_fault(device) or plugin.missing_program()
    require(missing is None, str(missing))
    if gradients is not None:
        gradients.require(plugin, device)
    owned = [(plugin.name, plugin.options, f"framework '{plugin.name}'")]
    if gradients is not None and gradients.problem is not None:
        problem = registry.problem(gradients.problem)
        owned.append((problem.name, problem.parameters, f"problem '{problem.name}'"))
    for fault in setting_faults(settings, owned):
        raise UsageError(fault.message)
    return chosen_options(plugin, settings, "check")


def _job(
    plugin: FrameworkPlugin,
    device: Device,
    threads: int | None,
    settings: Mapping[str, tuple[str, ...]],
    options: Mapping[str, Any],
    *,
    onnx: bool,
    gradients: GradientRequest | None,
    only: Sequence[str],
    note: Callable[[str], None],
) -> Job:
    framework = registry.find("frameworks", plugin.name).value
    if gradients is not None:
        # What is differentiated is small: several threads would only wait for each other.
        return gradients.job(framework, device, threads or 1, settings, options)
    threads = threads or default_threads()
    if onnx:
        return NodeTestsJob(framework, device, threads, SEED, str(node_tests(note)), options)
    return ConformanceJob(framework, device, threads, SEED, options, _installed_problems(note), only)


def _require_fitting(only: Sequence[str]) -> None:
    """Refuse patterns that fit no check; problems that are not ours may have checks of any name below ``problem/``."""
    if not only:
        return
    from benchmarker.worker.conformance import conformance_checks, fits

    names = [check.name for check in conformance_checks()]
    for pattern in only:
        if not pattern.startswith("problem/") and not any(fits(name, [pattern]) for name in names):
            raise UsageError(
                f"--only must fit the name of a check, such as {names[0]} or forward/conv/*, got '{pattern}'"
            )


def _installed_problems(note: Callable[[str], None]) -> dict[str, str]:
    """Return the problems that are not ours, with the values of their entry points; what cannot be used is told."""
    found = {}
    for entry in registry.entries():
        if entry.kind != "problems" or entry.is_ours:
            continue
        try:
            value = registry.find(entry.kind, entry.name).value
            import_roots([value])
        except UsageError as error:
            note(f"not checked with problem '{entry.name}': {error}")
        else:
            found[entry.name] = value
    return found
