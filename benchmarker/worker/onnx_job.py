"""The jobs over ONNX files: unpacking them, and running the ONNX project's node tests."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin
from benchmarker.worker.stages import Stages


def unpack_onnx(job: Job, channel: Channel, stages: Stages) -> None:
    """Unpack a model, or the node tests, into a folder."""
    asked = _asked(job)
    folder = Path(asked["folder"])
    with stages.stage("unpack"):
        if asked["model"] is None:
            from benchmarker.onnx_model.node_cases import unpack_cases

            unpack_cases(folder)
        else:
            from benchmarker.onnx_model.unpacking import unpack

            unpack(Path(asked["model"]), folder)
    channel.send("result", seconds=stages.seconds)


def check_onnx(job: Job, channel: Channel, stages: Stages) -> None:
    """Run every node test of the operators that are claimed and send each result as it comes."""
    from benchmarker.onnx_model.node_tests import run_cases

    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
    with stages.stage("check"):
        run_cases(
            framework,
            plugin,
            Path(_asked(job)["folder"]),
            device=job.device,
            threads=job.threads,
            seed=job.seed,
            progress=lambda result: channel.send("check", **asdict(result)),
        )
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())


def _asked(job: Job) -> Any:
    if job.onnx is None:
        raise BenchmarkerError(f"the job '{job.action}' names no files")
    return job.onnx
