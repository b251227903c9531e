"""Energy of the timed part by the machine's own counters; what no counter tells is absent, never a guess."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.energy import MIN_UPDATES, Idle, domain, idle_from, polling_seconds
from benchmarker.machine.energy_counters import EnergyCounter, Meter, NvmlCounter, rapl_counters
from benchmarker.machine.nvml import Session, open_session
from benchmarker.machine.process_tree import process_tree
from benchmarker.machine.procfs.files import ROOT
from benchmarker.machine.sampler import Sampler

MIN_IDLE_SECONDS, MAX_IDLE_SECONDS = 0.5, 3.0
"""How long idling is watched: until every counter was updated often enough, within these bounds."""
PAUSE_SECONDS = 0.005
"""Between two looks at the counters meanwhile."""

Clock = Callable[[], float]


class EnergyCollector:
    """Reads counters at the borders of the timed part, and before it what the idle machine draws.

    Parameters
    ----------
    root : Path
        Folder that holds ``sys``.
    clock, pause : callable
        Monotonic seconds, and what waits for some.
    """

    def __init__(
        self, root: Path = ROOT, clock: Clock = time.monotonic, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._root, self._clock, self._pause = root, clock, pause
        self._counters: list[EnergyCounter] = []
        self._gpus: Session | None = None
        self._absent: dict[str, str] = {}
        self._idle: dict[str, Idle | None] = {}

    def benchmarker_before_timing(self, run: Run) -> None:
        """Open the counters, those of GPUs only when the run uses one."""
        self._close()
        self._counters, self._absent = rapl_counters(self._root)
        if run.device == "cuda":
            self._open_gpus()
        if not self._counters:
            self._close()
            raise _nothing(self._absent)

    def benchmarker_idle(self, run: Run) -> None:
        """Measure what the machine draws now, half a second or longer."""
        self._idle = idle_draw(self._counters, self._clock, self._pause)

    @contextmanager
    def benchmarker_watch(self, run: Run, pid: int) -> Iterator[dict[str, Any]]:
        """Yield an object that has each domain's account when the context is left."""
        readings: dict[str, Any] = {"domains": {}, "absent": self._absent}
        try:
            with Window(self._watched(pid), self._clock) as window:
                yield readings
            for meter in window.meters:
                self._account(meter, window.seconds, readings)
            if not readings["domains"]:
                raise _nothing(self._absent)
        finally:
            self._close()

    def _account(self, meter: Meter, seconds: float, readings: dict[str, Any]) -> None:
        counter = meter.counter
        idle = self._idle.get(counter.name)
        try:
            if meter.fault is not None:
                raise ValueError(meter.fault)
            if idle is None:
                raise ValueError(
                    f"its counter was updated fewer than {MIN_UPDATES} times in "
                    f"{MAX_IDLE_SECONDS:g} s of idling, or could not be read"
                )
            account = domain(meter.joules, seconds, counter.method, counter.unit_joules, idle)
        except ValueError as error:
            self._absent[counter.name] = str(error)
            return
        readings["domains"][counter.name] = account.to_json()

    def _watched(self, pid: int) -> list[EnergyCounter]:
        """Return the counters without those of GPUs that the worker does not use."""
        if self._gpus is None:
            return self._counters
        used = {f"gpu{index}" for index in self._gpus.used_by(process_tree(pid))}
        return [c for c in self._counters if not isinstance(c, NvmlCounter) or c.name in used]

    def _open_gpus(self) -> None:
        try:
            self._gpus = open_session()
        except Unavailable as absence:
            self._absent["gpus"] = absence.reason
            return
        for index in range(len(self._gpus.devices)):
            counter = NvmlCounter(self._gpus, index)
            try:
                counter.read()
                self._counters.append(counter)
            except ValueError as error:
                self._absent[counter.name] = str(error)

    def _close(self) -> None:
        for counter in self._counters:
            counter.close()
        if self._gpus is not None:
            self._gpus.close()
        self._counters, self._gpus = [], None


class Window:
    """Counters read when it is entered, when it is left, and between before they could wrap around twice."""

    def __init__(self, counters: Sequence[EnergyCounter], clock: Clock) -> None:
        self._counters, self._clock = counters, clock
        self.meters: list[Meter] = []
        self.seconds = 0.0
        self._sampler: Sampler | None = None

    def __enter__(self) -> Window:
        self._started = self._clock()
        self.meters = [Meter(counter) for counter in self._counters]
        times = [polling_seconds(counter.wraps_at, counter.unit_joules) for counter in self._counters]
        interval = min((seconds for seconds in times if seconds is not None), default=None)
        if interval is not None:
            self._sampler = Sampler(self._read, interval)
        return self

    def __exit__(self, *error: object) -> None:
        if self._sampler is not None:
            self._sampler.stop()
        self._read()
        self.seconds = self._clock() - self._started

    def _read(self, ticks: int = 1) -> None:
        for meter in self.meters:
            meter.read()


def idle_draw(
    counters: Sequence[EnergyCounter], clock: Clock, pause: Callable[[float], None]
) -> dict[str, Idle | None]:
    """Return what each counter's domain draws now, by name; ``None`` for one that is updated too seldom."""
    meters = [Meter(counter) for counter in counters]
    updates: dict[str, list[tuple[float, float]]] = {counter.name: [] for counter in counters}
    started = clock()
    while (elapsed := clock() - started) < MAX_IDLE_SECONDS:
        if elapsed >= MIN_IDLE_SECONDS and all(len(seen) > MIN_UPDATES for seen in updates.values()):
            break
        pause(PAUSE_SECONDS)
        for meter in meters:
            before = meter.joules
            meter.read()
            if meter.joules != before:
                updates[meter.counter.name].append((clock() - started, meter.joules))
    return {m.counter.name: None if m.fault else idle_from(updates[m.counter.name]) for m in meters}


def _nothing(absent: dict[str, str]) -> Unavailable:
    return Unavailable("; ".join(f"{name}: {reason}" for name, reason in absent.items()))
