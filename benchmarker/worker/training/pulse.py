"""What is done between the samples of a training: machine, speed and loss are noted, and progress is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarker.worker.channel import Channel
from benchmarker.worker.measurement.progress import REPORT_SECONDS
from benchmarker.worker.measurement.sampling import PULSE_SECONDS

if TYPE_CHECKING:
    from benchmarker.worker.measurement.evidence import Checkpoints
    from benchmarker.worker.measurement.loss_curve import LossCurve
    from benchmarker.worker.measurement.speed_probe import SpeedProbe
    from benchmarker.worker.training.loop import TrainingLoop


class TrainingPulse:
    """Called between samples.

    Parameters
    ----------
    channel : Channel
        Where progress goes.
    loop : TrainingLoop
        The training, as it is when this is made.
    most : int
        Updates at most.
    checkpoints, losses, probe
        Take notes of the machine, the loss and the machine's speed.
    """

    def __init__(
        self,
        channel: Channel,
        loop: TrainingLoop,
        most: int,
        checkpoints: Checkpoints,
        losses: LossCurve,
        probe: SpeedProbe,
    ) -> None:
        self._channel = channel
        self._begin, self._began_ns = loop.step, loop.clocks.training
        self._most = most
        self._checkpoints = checkpoints
        self._losses = losses
        self._probe = probe
        now = time.monotonic()
        self._next_note, self._next_report = now + PULSE_SECONDS, now + REPORT_SECONDS

    def __call__(self, loop: TrainingLoop) -> None:
        now = time.monotonic()
        if now < self._next_note:
            return
        self._checkpoints.note(loop.step - self._begin)
        self._losses.note(loop.step, loop.output)
        self._probe.between()
        self._next_note = now + PULSE_SECONDS
        if now >= self._next_report:
            self._report(loop)
            self._next_report = now + REPORT_SECONDS

    def _report(self, loop: TrainingLoop) -> None:
        spent = (loop.clocks.training - self._began_ns) / max(loop.step - self._begin, 1) / 1e9
        last = loop.curve.last
        self._channel.send(
            "progress",
            done=loop.step,
            total=self._most,
            step_seconds=spent,
            loss=loop.loss,
            quality=None if last != last else last,
        )
