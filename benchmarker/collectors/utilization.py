"""How busy the worker, the machine and the GPUs were during the timed part, ten times a second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import Any

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.counters import Machine, MachineReading
from benchmarker.machine.gpu_activity import MIB, gpu_activity
from benchmarker.machine.nvml import Session, open_session
from benchmarker.machine.process_tree import ProcessTree
from benchmarker.machine.procfs.counters import tick_seconds
from benchmarker.machine.procfs.files import ROOT
from benchmarker.machine.sampler import Sampler
from benchmarker.machine.series import Series

INTERVAL_SECONDS = 0.1
CPU_SHARE = 0.005
"""CPU time over time that watching may cost; beyond it, it looks less often."""
REFRESH_SECONDS = 1.0
"""Between two searches for processes that the worker has started."""
KIB = 1 << 10
COLUMNS = {
    "worker_cpu_cores": 2,
    "worker_memory_mib": 0,
    "machine_cpu_cores": 2,
    "machine_available_mib": 0,
    "disk_read_kib_per_second": 0,
    "disk_written_kib_per_second": 0,
    "network_received_kib_per_second": 0,
    "network_sent_kib_per_second": 0,
}
"""What is read everywhere, and how many digits after the point are kept."""
GPU_COLUMNS = {"busy_percent": 0, "memory_mib": 0, "power_watts": 1, "sm_clock_mhz": 0, "slowed_percent": 0}
"""What is read of each GPU; the names begin with ``gpu0_`` and so on."""


class UtilizationCollector:
    """Samples in a thread of this process; GPUs only when the run uses one."""

    def __init__(self) -> None:
        self._gpus: Session | None = None

    def benchmarker_before_timing(self, run: Run) -> None:
        """Open NVML, so that this is done when the timed part begins."""
        self._close_gpus()
        if run.device == "cuda":
            # Without NVML there is still everything else.
            with suppress(Unavailable):
                self._gpus = open_session()

    @contextmanager
    def benchmarker_watch(self, run: Run, pid: int) -> Iterator[dict[str, Any]]:
        """Yield an object that is filled when the context is left."""
        if not (ROOT / "proc/stat").exists():
            raise Unavailable("there is no /proc to read from")
        readings: dict[str, Any] = {}
        watch = Watch(pid, self._gpus)
        try:
            sampler = Sampler(watch.take, INTERVAL_SECONDS, share=CPU_SHARE)
            try:
                yield readings
            finally:
                sampler.stop()
            if len(watch.series) == 0:
                raise Unavailable(f"the timed part was shorter than {INTERVAL_SECONDS:g} s")
            readings.update(watch.readings(), cpu_seconds=round(sampler.cpu_seconds, 4))
        finally:
            watch.close()
            self._close_gpus()

    def _close_gpus(self) -> None:
        if self._gpus is not None:
            self._gpus.close()
        self._gpus = None


class Watch:
    """The open files of one timed part, and what was read from them.

    Parameters
    ----------
    pid : int
        The worker.
    gpus : Session or None
        NVML, where GPUs are to be read.
    """

    def __init__(self, pid: int, gpus: Session | None) -> None:
        self._tree = ProcessTree(pid)
        self._machine = Machine()
        self._gpus = gpus
        self._indices = gpus.used_by(self._tree.pids) if gpus is not None else []
        names = {f"gpu{i}_{name}": digits for i in self._indices for name, digits in GPU_COLUMNS.items()}
        self.series = Series({**COLUMNS, **names})
        self._slowed_by: Counter[str] = Counter()
        self._samples = 0
        self._started = datetime.now(timezone.utc)
        self._tree.usage()
        self._read_at, self._read = time.monotonic(), self._machine.read()
        self._refreshed_at = self._read_at

    def take(self, ticks: int) -> None:
        """Add a sample that stands for ``ticks`` intervals."""
        now = time.monotonic()
        usage, reading = self._tree.usage(), self._machine.read()
        seconds = now - self._read_at
        values = [usage.cpu_seconds / seconds, usage.resident_bytes / MIB]
        self.series.add([*values, *rates(self._read, reading, seconds), *self._gpu_values()], ticks)
        self._samples += 1
        self._read_at, self._read = now, reading
        if now - self._refreshed_at >= REFRESH_SECONDS:
            self._tree.refresh()
            self._refreshed_at = now

    def _gpu_values(self) -> list[float | None]:
        if self._gpus is None:
            return []
        values: list[float | None] = []
        for index in self._indices:
            now = gpu_activity(self._gpus, index)
            slowed = None if now.slowed_by is None else 100.0 * bool(now.slowed_by)
            values += [now.busy_percent, now.memory_mib, now.power_watts, now.sm_clock_mhz, slowed]
            self._slowed_by.update(f"gpu{index}_{reason}" for reason in now.slowed_by or ())
        return values

    def readings(self) -> dict[str, Any]:
        """Return what was read.

        Returns
        -------
        dict
            ``columns`` holds a list for each quantity, ``None`` for one that the machine does not tell. A
            point is the mean of the ``intervals_per_point`` intervals before it, ``interval_seconds`` long
            in all; it stands for fewer samples where ``samples`` says that watching would have cost too
            much. ``slowed_by`` is the share of the samples in which a GPU was slowed for each reason.
        """
        columns = self.series.columns()
        return {
            "started": self._started.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "interval_seconds": INTERVAL_SECONDS * self.series.ticks_per_point,
            "intervals_per_point": self.series.ticks_per_point,
            "points": len(self.series),
            "samples": self._samples,
            "columns": columns,
            "slowed_by": {name: round(n / self._samples, 4) for name, n in sorted(self._slowed_by.items())},
        }

    def close(self) -> None:
        self._tree.close()
        self._machine.close()


def rates(first: MachineReading, last: MachineReading, seconds: float) -> list[float | None]:
    """Return what the machine did between two readings, in the order and units of :data:`COLUMNS`."""
    cores = None
    if first.cpu is not None and last.cpu is not None:
        # The kernel lets its idle counter step back at times.
        cores = max(last.cpu.busy - first.cpu.busy, 0) * tick_seconds() / seconds
    available = None if last.available_bytes is None else last.available_bytes / MIB

    def rate(before: int | None, after: int | None) -> float | None:
        return None if before is None or after is None else max(after - before, 0) / KIB / seconds

    was, now = first.disks, last.disks
    disks = (
        [None, None]
        if was is None or now is None
        else [rate(was.read, now.read), rate(was.written, now.written)]
    )
    return [cores, available, *disks, rate(first.received, last.received), rate(first.sent, last.sent)]
