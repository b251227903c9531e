"""What a worker does between samples: note machine and loss, and now and then tell how far it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarker.worker.channel import Channel

if TYPE_CHECKING:
    from benchmarker.worker.measurement.evidence import Checkpoints
    from benchmarker.worker.measurement.loss_curve import LossCurve
    from benchmarker.worker.measurement.speed_probe import SpeedProbe

REPORT_SECONDS = 1.0
"""Progress is told at most this often: it wakes the orchestrator."""


class SamplingProgress:
    """Called between samples; see :data:`benchmarker.worker.measurement.sampling.Report`.

    Parameters
    ----------
    channel : Channel
        Where progress goes.
    total : int or None
        How many steps there will be, if that is known.
    checkpoints : Checkpoints, optional
        Takes notes of the machine.
    curve : LossCurve, optional
        Takes notes of the loss.
    probe : SpeedProbe, optional
        Times known work.
    """

    def __init__(
        self,
        channel: Channel,
        total: int | None,
        checkpoints: Checkpoints | None = None,
        curve: LossCurve | None = None,
        probe: SpeedProbe | None = None,
    ) -> None:
        self._channel = channel
        self._total = total
        self._checkpoints = checkpoints
        self._curve = curve
        self._probe = probe
        self._next_report = time.monotonic() + REPORT_SECONDS

    def __call__(self, done: int, step_seconds: float, output: Any) -> None:
        if self._checkpoints is not None:
            self._checkpoints.note(done)
        if self._curve is not None:
            self._curve.note(done, output)
        if self._probe is not None:
            self._probe.between()
        now = time.monotonic()
        if now >= self._next_report:
            self._channel.send("progress", done=done, total=self._total, step_seconds=step_seconds)
            self._next_report = now + REPORT_SECONDS
