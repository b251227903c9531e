"""What the machine did during the timed part: read at both of its ends, compared after it."""

from __future__ import annotations

import contextlib
import os
import resource
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.machine.procfs import counters, processes
from benchmarker.machine.procfs.control_groups import Throttling, throttling
from benchmarker.machine.procfs.counters import CpuTimes, Transfers
from benchmarker.machine.procfs.files import ROOT
from benchmarker.machine.procfs.processes import Process, ThreadTime
from benchmarker.quick_dataclass import dataclass

MAX_FOREIGN = 3
MIN_CORES = 0.01
"""A process that uses less of a core is not named."""
MAX_THREADS_NOTED = 4
"""Each costs a microsecond and more a note."""
DEAREST_STAT_NS = 20_000
"""Where reading ``/proc/stat`` takes longer (it counts every interrupt of every core), notes leave it."""


@dataclass(frozen=True)
class Reading:
    """All counters at one moment; what the machine does not tell is ``None`` or empty.

    Parameters
    ----------
    wall_ns, clock_ns : int
        The clock of the day and the clock that times steps.
    pid, orchestrator : int
        Process identifiers of the worker and of who started it.
    cpus : int
        Logical cores of the machine.
    """

    wall_ns: int
    clock_ns: int
    pid: int
    orchestrator: int
    cpus: int
    usage: resource.struct_rusage
    ended_children: float
    machine: CpuTimes | None
    pressure: Mapping[str, int]
    threads: Mapping[int, ThreadTime]
    throttling: Throttling | None
    disks: Transfers | None
    own_transfers: Transfers | None
    processes: Mapping[int, Process]
    clock_source: str | None
    frequency_mhz: float | None
    thermal_throttles: int | None


def read(
    orchestrator: int,
    *,
    root: Path = ROOT,
    wall: Callable[[], int] = time.time_ns,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Reading:
    """Read all counters, which takes some milliseconds.

    Parameters
    ----------
    orchestrator : int
        Its process identifier: what it uses is told apart from foreign load.
    root : Path
        Folder that holds ``proc`` and ``sys``.
    wall, clock : callable
        Nanoseconds of the day, and of the clock that times steps.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpus = _usable_cpus()
    return Reading(
        wall_ns=wall(),
        clock_ns=clock(),
        pid=os.getpid(),
        orchestrator=orchestrator,
        cpus=os.cpu_count() or 1,
        usage=resource.getrusage(resource.RUSAGE_SELF),
        ended_children=children.ru_utime + children.ru_stime,
        machine=counters.cpu_times(root),
        pressure=counters.pressure(root),
        threads=processes.threads(root),
        throttling=throttling(root),
        disks=counters.disk_transfers(root),
        own_transfers=processes.own_transfers(root),
        processes=processes.processes(root),
        clock_source=counters.clock_source(root),
        frequency_mhz=counters.frequency_mhz(cpus, root),
        thermal_throttles=counters.thermal_throttles(cpus, root),
    )


def _usable_cpus() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return []


def between(
    first: Reading, last: Reading, *, steps: int | None = None, ranks: Collection[int] = ()
) -> dict[str, Any]:
    """Return what happened between two readings, in JSON values; ``None`` for what is not known.

    Parameters
    ----------
    first, last : Reading
        At the ends of the timed part.
    steps : int, optional
        How many there were.
    ranks : collection of int
        Processes of the other ranks of the run, which are no strangers: what they use is the run's own.

    Returns
    -------
    dict
        Shares are from 0 to 1 of the time between. ``steal_share`` is of all cores, ``run_delay_share`` of
        the threads that were running or waiting to; cores are CPU time over time. ``threads_busy`` is what
        the worker used, ``threads_runnable`` what it would have used had no thread waited for a core.
        ``foreign_cores`` is what others than the worker and the orchestrator used, ``foreign`` names the
        largest of them, ``foreign_unnamed_cores`` is the rest: ended, or not visible here.
    """
    seconds = max((last.clock_ns - first.clock_ns) / 1e9, 1e-9)
    companions = set().union(*(processes.descendants(last.processes, pid) for pid in ranks))
    own = _own_cpu_seconds(first, last)
    own += sum(processes.cpu_seconds_between(first.processes, last.processes, companions).values())
    faults = last.usage.ru_minflt - first.usage.ru_minflt
    return {
        "seconds": seconds,
        **_machine(first, last, seconds),
        **_pressures(first, last, seconds),
        **_threads(first, last, seconds, own),
        **_foreign(first, last, seconds, own, companions),
        "voluntary_switches": last.usage.ru_nvcsw - first.usage.ru_nvcsw,
        "involuntary_switches": last.usage.ru_nivcsw - first.usage.ru_nivcsw,
        "minor_faults": faults,
        "minor_faults_per_step": faults / steps if steps else None,
        "major_faults": last.usage.ru_majflt - first.usage.ru_majflt,
        **_throttled(first, last),
        **_disks(first, last),
        "wall_clock_jump_seconds": (last.wall_ns - first.wall_ns - last.clock_ns + first.clock_ns) / 1e9,
        "clock_source": last.clock_source,
        "frequency_mhz": {"first": first.frequency_mhz, "last": last.frequency_mhz},
        "thermal_throttles": _difference(first.thermal_throttles, last.thermal_throttles),
    }


def _difference(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else max(last - first, 0)


def _own_cpu_seconds(first: Reading, last: Reading) -> float:
    """Return the CPU time of the worker and of all that it started."""
    own = _cpu_seconds(last.usage) - _cpu_seconds(first.usage) + last.ended_children - first.ended_children
    alive = processes.descendants(last.processes, last.pid) - {last.pid}
    gone = processes.descendants(first.processes, first.pid) - {first.pid} - set(last.processes)
    own += sum(processes.cpu_seconds_between(first.processes, last.processes, alive).values())
    # Of a child that has ended all of its time was added, what it used before included.
    return max(own - sum(first.processes[pid].cpu_seconds for pid in gone if pid in first.processes), 0.0)


def _cpu_seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _machine(first: Reading, last: Reading, seconds: float) -> dict[str, Any]:
    if first.machine is None or last.machine is None or last.machine.total <= first.machine.total:
        return {"cpus": last.cpus, "steal_share": None, "busy_cores": None}
    stolen = max(last.machine.stolen - first.machine.stolen, 0)
    busy = max(last.machine.busy - first.machine.busy, 0)
    return {
        "cpus": last.cpus,
        "steal_share": stolen / (last.machine.total - first.machine.total),
        "busy_cores": busy * counters.tick_seconds() / seconds,
    }


def _pressures(first: Reading, last: Reading, seconds: float) -> dict[str, Any]:
    shares: dict[str, Any] = {}
    for name in counters.RESOURCES:
        waited = _difference(first.pressure.get(name), last.pressure.get(name))
        shares[f"{name}_pressure_share"] = None if waited is None else min(waited / 1e6 / seconds, 1.0)
    return shares


def _threads(first: Reading, last: Reading, seconds: float, own: float) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "own_cpu_seconds": own,
        "threads_busy": own / seconds,
        "threads_runnable": None,
        "tasks": len(last.threads) or None,
        "run_delay_seconds": None,
        "run_delay_share": None,
    }
    if not last.threads:
        return facts
    none = ThreadTime(0, 0)
    waited = sum(now.waiting - first.threads.get(tid, none).waiting for tid, now in last.threads.items())
    runnable = (own + waited / 1e9) / seconds
    return {
        **facts,
        "threads_runnable": runnable,
        "run_delay_seconds": waited / 1e9,
        "run_delay_share": waited / 1e9 / seconds / max(runnable, 1.0),
    }


def _foreign(
    first: Reading, last: Reading, seconds: float, own: float, companions: Collection[int]
) -> dict[str, Any]:
    if first.machine is None or last.machine is None:
        return dict.fromkeys(("orchestrator_cores", "foreign_cores", "foreign_unnamed_cores", "foreign"))
    table = last.processes
    used = processes.cpu_seconds_between(first.processes, table, table)
    orchestrator = used.get(last.orchestrator, 0.0)
    busy = max(last.machine.busy - first.machine.busy, 0) * counters.tick_seconds()
    foreign = max(busy - own - orchestrator, 0.0)
    ours = processes.descendants(table, last.pid) | {last.orchestrator, *companions}
    strangers = sorted(((cpu, pid) for pid, cpu in used.items() if pid not in ours), reverse=True)
    named = [
        {"name": table[pid].name, "pid": pid, "cores": cpu / seconds}
        for cpu, pid in strangers[:MAX_FOREIGN]
        if cpu / seconds >= MIN_CORES
    ]
    unnamed = max(foreign - sum(cpu for cpu, _ in strangers), 0.0)
    return {
        "orchestrator_cores": orchestrator / seconds,
        "foreign_cores": foreign / seconds,
        "foreign_unnamed_cores": unnamed / seconds,
        "foreign": named,
    }


def _throttled(first: Reading, last: Reading) -> dict[str, Any]:
    if first.throttling is None or last.throttling is None:
        return {"throttled_periods": None, "throttled_seconds": None}
    return {
        "throttled_periods": max(last.throttling.periods - first.throttling.periods, 0),
        "throttled_seconds": max(last.throttling.seconds - first.throttling.seconds, 0.0),
    }


def _disks(first: Reading, last: Reading) -> dict[str, Any]:
    """Return what others than the worker transferred."""
    others: dict[str, Any] = {}
    for name in ("read", "written"):
        everybody = _difference(getattr(first.disks, name, None), getattr(last.disks, name, None))
        own = _difference(getattr(first.own_transfers, name, None), getattr(last.own_transfers, name, None))
        others[f"disk_{name}_bytes_by_others"] = None if everybody is None else max(everybody - (own or 0), 0)
    return others


class Checkpoints:
    """The fewest counters, noted when it is made and between steps, so that a change of speed can be dated.

    Noted are the clock, the CPU time of this process, its involuntary switches, how long its busiest
    threads (at most four) waited for a core, and the busy and stolen time of the machine. Where that is
    slow to read (machines of many cores), busy time comes from the kernel's idle time, and stolen is unknown.
    Its files stay open for as long as it lives.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc``.
    dearest_ns : int
        What reading ``/proc/stat`` may take, in nanoseconds.
    """

    def __init__(self, root: Path = ROOT, *, dearest_ns: int = DEAREST_STAT_NS) -> None:
        self._rows: list[tuple[int, int, bytes, tuple[bytes, ...], resource.struct_rusage]] = []
        self._cpus = os.cpu_count() or 1
        busiest = sorted(processes.threads(root).items(), key=lambda item: -item[1].running)
        tasks = root / "proc/self/task"
        delays = [_opened(tasks / str(tid) / "schedstat") for tid, _ in busiest[:MAX_THREADS_NOTED]]
        self._delays = [file for file in delays if file is not None]
        self._is_stat = True
        self._machine = _opened(root / "proc/stat")
        if self._machine is not None and _reading_ns(self._machine) > dearest_ns:
            os.close(self._machine)
            self._is_stat = False
            self._machine = _opened(root / "proc/uptime")
        weakref.finalize(self, _close, [file for file in (*self._delays, self._machine) if file is not None])
        self.note(0)

    def note(self, step: int) -> None:
        """Note the counters; ``step`` is the number of steps done."""
        self._rows.append(
            (
                step,
                time.perf_counter_ns(),
                b"" if self._machine is None else _text(self._machine),
                tuple(_text(file) for file in self._delays),
                resource.getrusage(resource.RUSAGE_SELF),
            )
        )

    def to_json(self) -> dict[str, Any]:
        """Return what was noted, a list for each counter, times in seconds since the first note."""
        start = self._rows[0][1]
        machine = [self._machine_seconds(row[2].decode()) for row in self._rows]
        return {
            "cpus": self._cpus,
            "step": [row[0] for row in self._rows],
            "seconds": [(row[1] - start) / 1e9 for row in self._rows],
            "run_delay_seconds": [_waited_seconds(row[3]) for row in self._rows],
            "involuntary_switches": [row[4].ru_nivcsw for row in self._rows],
            "own_cpu_seconds": [_cpu_seconds(row[4]) for row in self._rows],
            "busy_seconds": [busy for busy, _ in machine],
            "stolen_seconds": [stolen for _, stolen in machine],
        }

    def _machine_seconds(self, text: str) -> tuple[float | None, float | None]:
        """Return busy and stolen time since boot."""
        if not text:
            return None, None
        if not self._is_stat:
            up, idle = map(float, text.split())
            return up * self._cpus - idle, None
        times = counters.parse_cpu_times(text)
        if times is None:
            return None, None
        return times.busy * counters.tick_seconds(), times.stolen * counters.tick_seconds()


def _opened(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        return os.open(path, os.O_RDONLY)
    return None


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _text(file: int) -> bytes:
    """Return the first lines of a file that is held open; nothing if what it tells of is gone."""
    try:
        return os.pread(file, 256, 0)
    except OSError:
        return b""


def _reading_ns(file: int) -> int:
    """Return what the quickest of some readings takes."""
    taken = []
    for _ in range(5):
        start = time.perf_counter_ns()
        _text(file)
        taken.append(time.perf_counter_ns() - start)
    return min(taken)


def _waited_seconds(texts: tuple[bytes, ...]) -> float | None:
    times = [found for text in texts if (found := processes.parse_thread_time(text.decode()))]
    return sum(found.waiting for found in times) / 1e9 if times else None
