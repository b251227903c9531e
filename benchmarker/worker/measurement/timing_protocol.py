"""What goes on around the timed steps of any job: the orchestrator's leave, counters and clocks, and what is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement import evidence, overhead, sampling
from benchmarker.worker.measurement.clock_checks import contradictions, read_clocks
from benchmarker.worker.measurement.device_events import DeviceEvents
from benchmarker.worker.measurement.loss_curve import LossCurve
from benchmarker.worker.measurement.sampling import Samples
from benchmarker.worker.measurement.speed_probe import SpeedProbe
from benchmarker.worker.program import Prepared
from benchmarker.worker.stages import Stages


@dataclass(frozen=True)
class Measured:
    """What the timed part gave, and what the machine did meanwhile."""

    warm: Samples
    samples: Samples
    costs: overhead.Costs
    memory: dict[str, Any]
    evidence: dict[str, Any]
    checkpoints: dict[str, Any]
    device_event_seconds: list[float] | None
    compilations: int | None
    curve: LossCurve | None
    process: dict[str, Any]
    contradictions: tuple[str, ...]
    speed: dict[str, Any]
    windows: list[dict[str, Any]] | None = None
    scenario: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all but the last step's output as JSON values."""
        return {
            "warmup_nanoseconds": self.warm.nanoseconds.tolist(),
            "samples_nanoseconds": self.samples.nanoseconds.tolist(),
            "wall_nanoseconds": self.samples.wall_nanoseconds,
            "steps": self.samples.steps,
            "block_steps": self.samples.block_steps,
            "overhead": self.costs.to_json(),
            "memory": self.memory,
            "evidence": self.evidence,
            "checkpoints": self.checkpoints,
            "device_event_seconds": self.device_event_seconds,
            "compilations": self.compilations,
            "process": self.process,
            "windows": self.windows,
            "scenario": self.scenario,
            "speed": self.speed,
            "learning": self.curve and self.curve.to_json(),
        }


class TimingProtocol:
    """Waits until steps may be timed, and reads clocks, memory and the machine's speed before and after them.

    Attributes
    ----------
    probe : SpeedProbe
        Which runs at both ends, and between samples where whoever makes the steps lets it.
    checkpoints : evidence.Checkpoints
        To be noted by whoever makes the steps.
    """

    def __init__(self, job: RunJob, prepared: Prepared, channel: Channel, stages: Stages) -> None:
        self._job, self._program = job, prepared.program
        self._channel, self._stages = channel, stages
        self.probe = SpeedProbe()
        self.checkpoints = evidence.Checkpoints()

    def wait(self, steps: int | None, step_seconds: float) -> None:
        """Tell that all is ready, and return once steps may be timed.

        Parameters
        ----------
        steps : int or None
            How many there will be, if that is known.
        step_seconds : float
            About how long one takes.
        """
        self.probe.at_end()
        self._channel.send("ready", pid=os.getpid(), steps=steps, step_seconds=step_seconds)
        self._channel.wait_for("go")
        facts.reset_peak_memory()
        self._program.reset_memory()
        self._compiled = self._program.compilations()
        self.checkpoints = evidence.Checkpoints()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Surround the steps."""
        with self._stages.stage("measure"), sampling.garbage_collector(self._job.garbage_collector):
            self._clocks = read_clocks()
            yield
            self._clocks_after = read_clocks()

    def finish(
        self,
        warm: Samples,
        samples: Samples,
        costs: overhead.Costs,
        seen: dict[str, Any],
        curve: LossCurve | None,
        events: DeviceEvents | None = None,
        windows: list[dict[str, Any]] | None = None,
        scenario: dict[str, Any] | None = None,
    ) -> Measured:
        """Tell that the steps are made, and return all that is known of them.

        Parameters
        ----------
        warm, samples : Samples
            The steps before the timed part, and those of it.
        costs : overhead.Costs
            Of taking a sample.
        seen : dict
            The machine's counters over the steps.
        curve : LossCurve or None
            Of a training.
        events : DeviceEvents, optional
            Around each step, by the device's own clock.
        windows : list of dict, optional
            When steps were made by turns.
        scenario : dict, optional
            What the scenario came to in which load came.
        """
        memory = {"peak_bytes": facts.peak_memory(), "framework": self._program.memory()}
        self._channel.send("timed")
        self.probe.at_end()
        device = None if events is None else events.seconds()
        whole = None if device is None else sum(device)
        found = contradictions(self._clocks, self._clocks_after, samples.total_seconds, whole)
        return Measured(
            warm,
            samples,
            costs,
            memory,
            seen,
            self.checkpoints.to_json(),
            device,
            _difference(self._compiled, self._program.compilations()),
            curve,
            facts.process(),
            tuple(found),
            self.probe.to_json(),
            windows,
            scenario,
        )


def _difference(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
