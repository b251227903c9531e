"""The jobs that check a framework: the conformance suite, and gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from benchmarker.framework import Framework, FrameworkPlugin
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.testing.result import CheckResult

Run = Callable[[Framework, FrameworkPlugin, Callable[["CheckResult"], None]], object]


def check(job: Job, channel: Channel, stages: Stages) -> None:
    """Run every check of the conformance suite and send each result as it comes."""

    def run(framework: Framework, plugin: FrameworkPlugin, progress: Callable[[CheckResult], None]) -> object:
        from benchmarker.testing import run_checks

        return run_checks(
            framework, plugin, device=job.device, threads=job.threads, seed=job.seed, progress=progress
        )

    _checked(job, channel, stages, run)


def check_gradients(job: Job, channel: Channel, stages: Stages) -> None:
    """Compare the gradients of every operator, or of the job's problem, with differences."""

    def run(framework: Framework, plugin: FrameworkPlugin, progress: Callable[[CheckResult], None]) -> object:
        from benchmarker.testing import Subject
        from benchmarker.testing.derivatives import derivative_checks, graph_derivative_check

        framework.configure(job.device, threads=job.threads, seed=job.seed)
        subject = Subject(framework, plugin, job.device, job.seed)
        checks = derivative_checks()
        if job.problem:
            checks = (graph_derivative_check(problem_graph(job, job.batch_size)),)
        for one in checks:
            progress(one.run(subject))
        return None

    _checked(job, channel, stages, run)


def _checked(job: Job, channel: Channel, stages: Stages, run: Run) -> None:
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
    with stages.stage("check"):
        run(framework, plugin, lambda result: channel.send("check", **asdict(result)))
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())
