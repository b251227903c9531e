"""The jobs over ONNX files: unpacking them, and running the ONNX project's node tests."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.other_jobs import NodeTestsJob, UnpackJob
from benchmarker.worker.program import framework_options, import_framework
from benchmarker.worker.stages import Stages


def unpack(job: UnpackJob, channel: Channel, stages: Stages) -> None:
    """Unpack a model, or the node tests, into a folder."""
    folder = Path(job.folder)
    with stages.stage("unpack"):
        if job.model is None:
            from benchmarker.worker.conformance.onnx_cases import unpack_cases

            unpack_cases(folder)
        else:
            from benchmarker.graph.onnx import unpacking

            unpacking.unpack(Path(job.model), folder)
    channel.send("result", seconds=stages.seconds)


def check_nodes(job: NodeTestsJob, channel: Channel, stages: Stages) -> None:
    """Run every node test of the operators that are claimed and send each result as it comes."""
    from benchmarker.worker.conformance.onnx_nodes import run_cases

    plugin, framework = import_framework(job, stages)
    with stages.stage("check"):
        run_cases(
            framework,
            plugin,
            Path(job.folder),
            device=job.device,
            threads=job.threads,
            seed=job.seed,
            progress=lambda result: channel.send("check", **asdict(result)),
            options=framework_options(job, plugin),
            skip=job.skip,
            crash=job.crash,
        )
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())
