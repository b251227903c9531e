"""The conformance suite in an isolated process, under the framework's own interpreter."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.environments import resolve
from benchmarker.errors import UsageError
from benchmarker.experiment import RunSpec
from benchmarker.experiment_faults import parse_framework
from benchmarker.framework import Device, FrameworkPlugin
from benchmarker.launchers import Event, Outcome, WorkerCommand
from benchmarker.onnx_files import node_tests
from benchmarker.outcomes import failure, log_tail
from benchmarker.packages import package_folders
from benchmarker.worker.job import Job
from benchmarker.worker_environment import default_threads, worker_environment


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
    """

    framework: str
    version: str | None
    results: tuple[dict[str, Any], ...]
    failure: str | None
    log_tail: str

    @property
    def passed(self) -> bool:
        """Whether the framework conforms."""
        return self.failure is None and self.count("failed") == 0 and self.count("passed") > 0

    def count(self, status: str) -> int:
        """Return how many checks have that status."""
        return sum(result["status"] == status for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "passed": self.passed}


@dataclass(frozen=True)
class GradientRequest:
    """Which gradients are checked.

    Parameters
    ----------
    problem : str or None
        Those of a problem at its reduced size; None for those of every operator.
    settings : mapping
        The problem's parameters that are other than in its reduced size.
    """

    problem: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

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

    def asked_of(self, job: Job) -> Job:
        """Return the job that checks them.

        Raises
        ------
        UsageError
            On settings that the problem does not take.
        """
        if self.problem is None:
            return replace(job, action="check_gradients")
        problem = registry.problem(self.problem)
        return replace(
            job,
            action="check_gradients",
            problem=registry.find("problems", self.problem).value,
            problem_parameters=problem.configure({**problem.reduced, **self.settings}),
            batch_size=problem.reduced_batch_size,
            mode="gradient",
        )


class _Heard:
    """What the worker has said so far."""

    def __init__(self, show: Callable[[dict[str, Any]], None]) -> None:
        self._show = show
        self.results: list[dict[str, Any]] = []
        self.events: dict[str, Event] = {}
        self.stage = "start"

    def handle(self, event: Event) -> None:
        """Take an event; results of checks are shown as they come."""
        if event["event"] == "check":
            result = {name: value for name, value in event.items() if name != "event"}
            self.results.append(result)
            self._show(result)
        elif event["event"] == "stage":
            self.stage = str(event["name"])
        else:
            self.events[event["event"]] = event

    def report(self, framework: str, outcome: Outcome, tail: str, timeout: float | None) -> CheckReport:
        """Return the report on a suite whose worker has ended."""
        if outcome.ended_by == "interrupt":
            raise KeyboardInterrupt
        error, result = self.events.get("error"), self.events.get("result")
        failed = failure(outcome, self.stage, error, None, result is not None, tail, False, timeout)
        return CheckReport(
            framework,
            (result or {}).get("version"),
            tuple(self.results),
            failed.message if failed else None,
            tail if failed else "",
        )


def _require_sense(threads: int | None, timeout: float | None) -> None:
    if threads is not None and threads < 1:
        raise UsageError(f"the number of threads must be at least 1, got {threads}")
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"the timeout must be more than 0 seconds and finite, got {timeout:g}")


def check_framework(
    request: str,
    *,
    environment: str = "auto",
    device: str = "cpu",
    threads: int | None = None,
    timeout: float | None = None,
    onnx: bool = False,
    gradients: GradientRequest | None = None,
    note: Callable[[str], None] = lambda text: None,
    show: Callable[[dict[str, Any]], None] = lambda result: None,
) -> CheckReport:
    """Run the suite over a framework.

    Parameters
    ----------
    request : str
        ``name`` or ``name==version``.
    environment, device, threads, timeout
        As in :class:`~benchmarker.experiment.RunSpec`.
    onnx : bool
        Whether to run the ONNX project's node tests instead of the suite.
    gradients : GradientRequest, optional
        Check gradients against differences in float64 instead.
    note, show : callable
        Told of what takes time, and of each result as it comes.
    """
    plugin, version = parse_framework(request)
    _require_sense(threads, timeout)
    if gradients is not None:
        gradients.require(plugin, device)
    cuda = device == "cuda"
    interpreter = resolve(plugin, choice=environment, version=version, cuda=cuda, progress=note)
    # What is differentiated is small: several threads would only wait for each other.
    usual = 1 if gradients else default_threads()
    spec = RunSpec(plugin.name, "", threads=threads or usual, device=device, gpus=(0,) if cuda else ())
    job = Job(
        "check_onnx" if onnx else "check",
        registry.find("frameworks", plugin.name).value,
        device=Device(device),
        onnx={"folder": str(node_tests(note)), "model": None} if onnx else None,
    )
    if gradients is not None:
        job = gradients.asked_of(job)
    heard = _Heard(show)
    with tempfile.TemporaryDirectory(prefix="benchmarker-") as folder:
        log = Path(folder) / "check.log"
        command = WorkerCommand(
            interpreter.path,
            {**asdict(job), "threads": spec.threads},
            package_folders(filter(None, (job.framework, job.problem))),
            worker_environment(spec, plugin),
            (),
            log,
            timeout,
        )
        outcome = registry.launcher("local").launch(command, heard.handle)
        return heard.report(plugin.name, outcome, log_tail(log), timeout)
