"""The first step of a program: verified, unless that was switched off, and timed by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RunJob
from benchmarker.worker.program import Prepared
from benchmarker.worker.stages import Stages


def first_step(job: RunJob, prepared: Prepared, channel: Channel, stages: Stages) -> tuple[Any, bool]:
    """Return what the first step returned, and whether it was found to compute another function."""
    if job.reference is None:
        with stages.stage("compile"):
            first = prepared.step(prepared.feed())
            prepared.program.synchronize(first)
        return first, False
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.verification.verified_start import verified_start

    first, verification = verified_start(job, prepared, Path(job.reference), stages)
    channel.send("verification", **verification.to_json())
    return first, verification.status == "failed"
