"""Utilization over time: series, sampling, a process tree and the machine against what is known."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarker.collectors import utilization
from benchmarker.collectors.utilization import COLUMNS, GPU_COLUMNS, rates
from benchmarker.machine import nvml
from benchmarker.machine.counters import Machine
from benchmarker.machine.gpu_activity import gpu_activity
from benchmarker.machine.nvml import Session
from benchmarker.machine.process_tree import ProcessTree
from benchmarker.machine.sampler import Sampler
from benchmarker.machine.series import Series
from benchmarker.orchestration.collector_session import CollectorSession
from tests.collectors.test_gpus import one_gpu
from tests.support.collectors import RUN, built_in
from tests.support.waiting import wait_until

BUSY = "while True: pass"
BUSY_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


@contextmanager
def process(code: str) -> Iterator[int]:
    """Run Python code in a session of its own until the context is left."""
    started = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        yield started.pid
    finally:
        os.killpg(started.pid, 9)
        started.wait()


# --- series --------------------------------------------------------------------------------------


def test_a_short_series_is_kept_as_it_is() -> None:
    series = Series({"a": 2, "b": 0, "none": 1})
    for value in range(600):
        series.add([value / 3, value * 1.6, None])
    columns = series.columns()
    assert columns["a"] == [round(value / 3, 2) for value in range(600)]
    assert columns["b"] == [round(value * 1.6) for value in range(600)]
    assert all(isinstance(value, int) for value in columns["b"] or ())
    assert columns["none"] is None
    assert series.ticks_per_point == 1


@pytest.mark.parametrize("count", [601, 1200, 1201, 5000, 100_000])
def test_a_long_series_is_thinned_to_means(count: int) -> None:
    series = Series({"a": 3})
    for value in range(count):
        series.add([value])
    points = series.columns()["a"]
    assert points is not None
    assert 300 < len(points) <= 600
    group = series.ticks_per_point
    assert len(points) == -(-count // group)
    groups = [range(start, min(start + group, count)) for start in range(0, count, group)]
    assert points == [pytest.approx(sum(g) / len(g)) for g in groups]


def test_a_sample_that_stands_for_several_intervals_is_several() -> None:
    series = Series({"a": 0}, most=2)
    series.add([1], ticks=3)
    series.add([5], ticks=1)
    assert series.columns() == {"a": [1, 3]}


def test_unknown_values_are_left_out_of_means() -> None:
    series = Series({"a": 0}, most=2)
    for value in (4, None, None, None):
        series.add([value])
    assert series.columns() == {"a": [4, None]}


# --- sampler -------------------------------------------------------------------------------------


def test_every_interval_is_accounted_for_once() -> None:
    taken: list[int] = []
    began: list[float] = []
    ended: list[float] = []
    enough = threading.Event()

    def take(ticks: int) -> None:
        began.append(time.monotonic())
        taken.append(ticks)
        if len(taken) == 3:
            time.sleep(0.1)  # five intervals, to be counted with the next call
        if len(taken) == 10:
            enough.set()
        ended.append(time.monotonic())

    before = time.monotonic()
    sampler = Sampler(take, 0.02)
    after = time.monotonic()
    enough.wait()
    sampler.stop()
    # However late the thread is: what passed before a call is counted with it or with one before.
    for number in range(1, len(taken)):
        so_far = sum(taken[: number + 1])
        assert (ended[number - 1] - after) / 0.02 - 1 <= so_far <= (began[number] - before) / 0.02
    count = len(taken)
    time.sleep(0.1)
    assert len(taken) == count


def test_a_sampler_that_costs_too_much_samples_less_often() -> None:
    def burn(ticks: int) -> None:
        until = time.thread_time() + 0.005
        while time.thread_time() < until:
            pass

    sampler = Sampler(burn, 0.01, share=0.02)
    # It would be 1 without a budget.
    assert wait_until(lambda: sampler.every >= 8)
    sampler.stop()


def test_what_sampling_raises_is_told_when_it_ends() -> None:
    called = threading.Event()

    def fail(ticks: int) -> None:
        called.set()
        raise RuntimeError("no")

    sampler = Sampler(fail, 0.01)
    called.wait()
    with pytest.raises(RuntimeError, match="no"):
        sampler.stop()


# --- process tree --------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [BUSY, BUSY_CHILD], ids=["itself", "its child"])
def test_cpu_time_of_a_tree_is_what_the_kernel_has_given_it(code: str) -> None:
    with process(code) as pid:
        tree = ProcessTree(pid)
        while code == BUSY_CHILD and len(tree.pids) < 2:
            tree.refresh()

        def used() -> float:
            return sum(ticks(member) for member in tree.pids)

        outer = used()
        tree.usage()
        inner = used()
        assert wait_until(lambda: used() - inner > 0.5)
        least = used() - inner
        usage = tree.usage()
        most = used() - outer
        tree.close()
    # The kernel counts in hundredths of seconds, for each of two processes.
    assert least - 0.05 <= usage.cpu_seconds <= most + 0.05


def ticks(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_a_process_that_ended_counts_no_more() -> None:
    with process(BUSY) as pid:
        tree = ProcessTree(pid)
        while tree.usage().resident_bytes < 1 << 20:
            time.sleep(0.01)
    assert tree.usage() == tree.usage()
    assert (tree.usage().cpu_seconds, tree.usage().resident_bytes, tree.pids) == (0.0, 0, set())
    with pytest.raises(ProcessLookupError):
        ProcessTree(pid)


def test_no_descriptor_stays_open() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with process(BUSY) as pid, CollectorSession(RUN, built_in("utilization"), {}) as collection:
        collection.timing_begins(pid)
        assert len(os.listdir("/proc/self/fd")) > before  # noqa: PTH208
        collection.timing_ends()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


# --- machine -------------------------------------------------------------------------------------

STAT = "cpu  {user} 5 10 {idle} 20 0 0 7 3 0\ncpu0 1 2 3\nintr 12345\n"
DISKS = """   7       0 loop0 10 0 800000 0 10 0 800000 0 0 0 0
 254       0 vda 10 0 {read} 0 10 0 {written} 0 0 0 0
 254       1 vda1 10 0 {read} 0 10 0 {written} 0 0 0 0
 253       0 dm-0 10 0 {read} 0 10 0 {written} 0 0 0 0
"""
NETWORK = """Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo: 999999 1 0 0 0 0 0 0 999999 1 0 0 0 0 0 0
  eth0:{received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0
docker0: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0
"""


def plant(root: Path, **values: int) -> Path:
    """Write what the kernel would show, rewriting the files that are open."""
    texts = {
        "stat": STAT,
        "diskstats": DISKS,
        "net/dev": NETWORK,
        "meminfo": "MemAvailable:  {available} kB\n",
    }
    for name, text in texts.items():
        path = root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**values))
    for name in ("block/loop0", "block/vda", "block/dm-0", "class/net/eth0/device", "class/net/docker0"):
        (root / "sys" / name).mkdir(parents=True, exist_ok=True)
    return root


FIRST = {
    "user": 1000,
    "idle": 5000,
    "read": 100,
    "written": 50,
    "received": 1000,
    "sent": 500,
    "available": 2048,
}
LATER = {
    "user": 1150,
    "idle": 5040,
    "read": 2148,
    "written": 4146,
    "received": 103400,
    "sent": 51700,
    "available": 4096,
}


def test_rates_of_a_machine(tmp_path: Path) -> None:
    machine = Machine(plant(tmp_path, **FIRST))
    first = machine.read()
    plant(tmp_path, **LATER)
    last = machine.read()
    machine.close()
    # 150 ticks of 10 ms; sectors of 512 bytes; loopback, partitions and what is made of disks left out
    per_tick = 1 / os.sysconf("SC_CLK_TCK")
    assert rates(first, last, 2.0) == [150 * per_tick / 2, 4.0, 512.0, 1024.0, 50.0, 25.0]


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert rates(machine.read(), machine.read(), 1.0) == [None] * 6
    machine.close()


def test_all_interfaces_count_where_none_has_hardware(tmp_path: Path) -> None:
    plant(tmp_path, **FIRST)
    (tmp_path / "sys/class/net/eth0/device").rmdir()
    assert Machine(tmp_path).read().received == 2000


# --- the collector -------------------------------------------------------------------------------


@pytest.mark.alone
def test_a_busy_worker_is_seen_busy() -> None:
    with process(BUSY) as pid, CollectorSession(RUN, built_in("utilization"), {}) as collection:
        collection.before_timing()
        before = ticks(pid)
        began = time.monotonic()
        collection.timing_begins(pid)
        time.sleep(2.05)
        collection.timing_ends()
        intervals = (time.monotonic() - began) / 0.1
        used = ticks(pid) - before
    readings = collection.monitors["utilization"]
    assert collection.statuses["utilization"] == {"status": "ok", "reason": None}
    assert readings["interval_seconds"] == pytest.approx(0.1)
    assert list(readings["columns"]) == list(COLUMNS)
    assert {len(column) for column in readings["columns"].values() if column} == {readings["points"]}
    assert intervals / 2 <= readings["points"] <= intervals
    cores = readings["columns"]["worker_cpu_cores"]
    assert used / 2 <= sum(cores) * 0.1 <= used + 0.25
    assert sum(readings["columns"]["machine_cpu_cores"]) >= sum(cores) * 0.9
    assert min(readings["columns"]["worker_memory_mib"]) > 3
    assert 0 < readings["cpu_seconds"] < 0.2


def test_a_timed_part_of_less_than_an_interval_has_no_utilization() -> None:
    took = 0.1
    with process(BUSY) as pid:
        while took >= 0.1:  # an interruption may make it longer than it is meant to be
            with CollectorSession(RUN, built_in("utilization"), {}) as collection:
                began = time.monotonic()
                collection.timing_begins(pid)
                collection.timing_ends()
                took = time.monotonic() - began
    assert collection.statuses["utilization"]["status"] == "absent"
    assert "shorter than 0.1 s" in str(collection.statuses["utilization"]["reason"])


# --- GPUs, NVML stood in for ---------------------------------------------------------------------

GPU = {
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=87, memory=40),
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30, used=3 << 30),
    "nvmlDeviceGetPowerUsage": 312_500,
    "nvmlDeviceGetClockInfo": lambda handle, kind: 1755,
    # power cap and idle
    "nvmlDeviceGetCurrentClocksThrottleReasons": 0x5,
}


def test_activity_of_a_gpu() -> None:
    activity = gpu_activity(Session(one_gpu(**GPU)), 0)
    assert (activity.busy_percent, activity.memory_mib, activity.power_watts) == (87, 3072.0, 312.5)
    assert (activity.sm_clock_mhz, activity.slowed_by) == (1755, ("power_cap",))
    silent = one_gpu(nvmlDeviceGetClockInfo=None, nvmlDeviceGetMemoryInfo=None)
    assert gpu_activity(Session(silent), 0).busy_percent is None


def test_a_gpu_s_columns_and_nvml_s_end(monkeypatch: pytest.MonkeyPatch) -> None:
    library = one_gpu(**GPU)
    monkeypatch.setattr(nvml, "library_exists", lambda: True)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    run = replace(RUN, device="cuda")
    plugins: dict[str, Any] = {"utilization": utilization.UtilizationCollector()}
    with process(BUSY) as pid, CollectorSession(run, plugins, {}) as collection:
        collection.before_timing()
        collection.timing_begins(pid)
        assert wait_until(lambda: library.calls.count("nvmlDeviceGetPowerUsage") >= 3)
        collection.timing_ends()
    readings = collection.monitors["utilization"]
    assert list(readings["columns"]) == [*COLUMNS, *(f"gpu0_{name}" for name in GPU_COLUMNS)]
    assert set(readings["columns"]["gpu0_power_watts"]) == {312.5}
    assert set(readings["columns"]["gpu0_slowed_percent"]) == {100}
    assert readings["slowed_by"] == {"gpu0_power_cap": 1.0}
    assert library.calls[-1] == "nvmlShutdown"


def test_only_the_gpus_that_the_worker_uses_are_read() -> None:
    def processes(handle: str) -> list[Any]:
        return [SimpleNamespace(pid=7)] if handle == "handle 1" else []

    session = Session(one_gpu(nvmlDeviceGetCount=3, nvmlDeviceGetComputeRunningProcesses=processes))
    assert session.used_by({6, 7}) == [1]
    assert session.used_by({8}) == [0, 1, 2]
