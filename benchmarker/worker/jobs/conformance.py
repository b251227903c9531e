"""The jobs that check a framework: the conformance suite, and gradients against differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Union

from benchmarker.api.framework import Framework, FrameworkPlugin
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.loading import load_problem, problem_graph
from benchmarker.worker.other_jobs import ConformanceJob, OperatorGradientsJob, ProblemGradientsJob
from benchmarker.worker.program import framework_options, import_framework
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.worker.conformance.result import CheckResult
    from benchmarker.worker.conformance.subject import Check

CheckJob = Union[ConformanceJob, OperatorGradientsJob, ProblemGradientsJob]
Run = Callable[[Framework, FrameworkPlugin, Callable[["CheckResult"], None]], object]


def check(job: ConformanceJob, channel: Channel, stages: Stages) -> None:
    """Run every check of the conformance suite and send each result as it comes."""

    def run(framework: Framework, plugin: FrameworkPlugin, progress: Callable[[CheckResult], None]) -> object:
        from benchmarker.worker.conformance import run_checks
        from benchmarker.worker.conformance.problems import installed_problem_checks

        of_problems = (
            installed_problem_checks(name, partial(load_problem, value))
            for name, value in job.problems.items()
        )
        return run_checks(
            framework,
            plugin,
            device=job.device,
            threads=job.threads,
            seed=job.seed,
            progress=progress,
            options=framework_options(job, plugin),
            further=[check for checks in of_problems for check in checks],
            only=job.only,
        )

    _checked(job, channel, stages, run)


def check_operator_gradients(job: OperatorGradientsJob, channel: Channel, stages: Stages) -> None:
    """Compare the gradients of every operator with differences."""
    from benchmarker.worker.conformance.derivatives import derivative_checks

    _check_gradients(job, derivative_checks, channel, stages)


def check_problem_gradients(job: ProblemGradientsJob, channel: Channel, stages: Stages) -> None:
    """Compare the gradients of the job's problem with differences."""
    from benchmarker.worker.conformance.derivatives import graph_derivative_check

    def checks() -> tuple[Check, ...]:
        return (graph_derivative_check(problem_graph(job, job.batch_size)),)

    _check_gradients(job, checks, channel, stages)


def _check_gradients(
    job: OperatorGradientsJob | ProblemGradientsJob,
    checks: Callable[[], Iterable[Check]],
    channel: Channel,
    stages: Stages,
) -> None:
    def run(framework: Framework, plugin: FrameworkPlugin, progress: Callable[[CheckResult], None]) -> None:
        from benchmarker.worker.conformance import Subject

        framework.configure(job.device, threads=job.threads, seed=job.seed)
        subject = Subject(framework, plugin, job.device, job.seed, framework_options(job, plugin))
        for check in checks():
            progress(check.run(subject))

    _checked(job, channel, stages, run)


def _checked(job: CheckJob, channel: Channel, stages: Stages, run: Run) -> None:
    plugin, framework = import_framework(job, stages)
    with stages.stage("check"):
        run(framework, plugin, lambda result: channel.send("check", **asdict(result)))
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())
