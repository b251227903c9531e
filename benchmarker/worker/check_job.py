"""The job that runs the conformance suite over a framework."""

from __future__ import annotations

from dataclasses import asdict

from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin
from benchmarker.worker.stages import Stages


def check(job: Job, channel: Channel, stages: Stages) -> None:
    """Run every check and send each result as it comes."""
    from benchmarker.testing import run_checks

    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
    with stages.stage("check"):
        run_checks(
            framework,
            plugin,
            device=job.device,
            threads=job.threads,
            seed=job.seed,
            progress=lambda result: channel.send("check", **asdict(result)),
        )
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())
