"""What the worker reads of the machine: exact from planted files, and true of what really happened."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarker.machine.procfs.control_groups import throttling
from benchmarker.machine.procfs.counters import Transfers, disk_transfers
from benchmarker.machine.procfs.processes import Process, cpu_seconds_between, descendants, processes
from benchmarker.machine.trust import grade
from benchmarker.worker.measurement.evidence import Checkpoints, Reading, between, read
from tests.conftest import ROOT
from tests.support.kernel_files import plant

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
TICKS = os.sysconf("SC_CLK_TCK")
ORCHESTRATOR = 4000001
SECOND = 1_000_000_000
CPU = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def stat_of(pid: int, name: str, parent: int, ticks: int, started: int = 7) -> str:
    """Return a process's stat file with its CPU time split in two."""
    return (
        f"{pid} ({name}) S {parent} "
        + "0 " * 9
        + f"{ticks - ticks // 3} {ticks // 3} 0 0 20 0 1 0 {started} 0\n"
    )


def machine(root: Path, **given: Any) -> Path:
    """Plant a machine of two idle cores whose counters are those given."""
    ticks = given.get("ticks", {})
    files = {
        "proc/stat": f"cpu  {ticks.get('user', 0)} 0 0 {ticks.get('idle', 0)} 0 0 0 {ticks.get('stolen', 0)} 0 0\n",
        "proc/pressure/cpu": f"some avg10=0.00 total={given.get('cpu_pressure', 0)}\nfull avg10=0.00 total=9\n",
        "proc/pressure/io": f"some avg10=0.00 total={given.get('io_pressure', 0)}\nfull avg10=0.00 total=0\n",
        "proc/diskstats": (
            f"   8 0 sda 1 0 {given.get('read', 0)} 0 1 0 {given.get('written', 0)} 0 0 0 0\n"
            f"   8 1 sda1 1 0 {given.get('read', 0)} 0 1 0 {given.get('written', 0)} 0 0 0 0\n"
            f" 253 0 zram0 1 0 999999 0 1 0 999999 0 0 0 0\n"
        ),
        "sys/block/sda/size": "1\n",
        "sys/block/zram0/size": "1\n",
        "proc/self/io": f"read_bytes: 0\nwrite_bytes: {given.get('own_written', 0)}\n",
        "proc/self/task/1/schedstat": f"{given.get('ran', 0)} {given.get('waited', 0)} 3\n",
        "proc/self/cgroup": "4:cpu,cpuacct:/job\n",
        "sys/fs/cgroup/cpu/job/cpu.stat": (
            f"nr_periods 90\nnr_throttled {given.get('throttled', 0)}\n"
            f"throttled_time {given.get('throttled_ns', 0)}\n"
        ),
        "sys/devices/system/clocksource/clocksource0/current_clocksource": f"{given.get('clock', 'tsc')}\n",
        f"sys/devices/system/cpu/cpu{CPU}/thermal_throttle/core_throttle_count": f"{given.get('heat', 0)}\n",
        f"sys/devices/system/cpu/cpu{CPU}/cpufreq/scaling_cur_freq": f"{given.get('khz', 2000000)}\n",
    }
    for pid, (name, parent, used) in given.get("processes", {}).items():
        files[f"proc/{pid}/stat"] = stat_of(pid, name, parent, used)
    return plant(root, files)


def seen(
    tmp_path: Path, first: dict[str, Any], last: dict[str, Any], *, seconds: int = 3, **clock: int
) -> Any:
    """Return what is told of two planted moments, so many seconds apart."""
    start = read(ORCHESTRATOR, root=machine(tmp_path / "first", **first), wall=lambda: 0, clock=lambda: 0)
    wall = seconds * SECOND + clock.get("jump_ns", 0)
    root = machine(tmp_path / "last", **last)
    return between(
        start, read(ORCHESTRATOR, root=root, wall=lambda: wall, clock=lambda: seconds * SECOND), steps=100
    )


def kinds(evidence: dict[str, Any]) -> set[str]:
    return {reason["kind"] for reason in grade(evidence)["reasons"]}


def texts(evidence: dict[str, Any]) -> str:
    return "\n".join(reason["text"] for reason in grade(evidence)["reasons"])


@linux_only
def test_a_quiet_machine_is_clean(tmp_path: Path) -> None:
    evidence = seen(tmp_path, {}, {"ticks": {"idle": 6 * TICKS}, "ran": 10, "waited": 10})
    assert evidence["seconds"] == 3
    assert (evidence["steal_share"], evidence["busy_cores"], evidence["cpu_pressure_share"]) == (0, 0, 0)
    assert evidence["disk_written_bytes_by_others"] == 0
    assert evidence["frequency_mhz"] == {"first": 2000.0, "last": 2000.0}
    assert grade(evidence) == {"grade": "clean", "reasons": []}


@linux_only
def test_shares_are_exact(tmp_path: Path) -> None:
    evidence = seen(
        tmp_path,
        {"cpu_pressure": 5, "waited": 1000, "processes": {77: ("a (b) c", 1, 3 * TICKS)}},
        {
            "ticks": {"user": 3 * TICKS, "idle": 2 * TICKS, "stolen": TICKS},
            "cpu_pressure": 1_500_005,
            "io_pressure": 300_000,
            "waited": 600_001_000,
            "heat": 4,
            "clock": "hpet",
            "processes": {
                77: ("a (b) c", 1, 5 * TICKS),
                ORCHESTRATOR: ("python", 1, TICKS // 2),
                78: ("new", 1, TICKS // 10),
            },
        },
    )
    assert evidence["steal_share"] == pytest.approx(1 / 6)
    assert evidence["busy_cores"] == pytest.approx(1.0)
    assert evidence["cpu_pressure_share"] == pytest.approx(0.5)
    assert evidence["io_pressure_share"] == pytest.approx(0.1)
    assert evidence["memory_pressure_share"] is None
    assert evidence["run_delay_share"] == pytest.approx(0.2, rel=1e-3)
    assert evidence["orchestrator_cores"] == pytest.approx(1 / 6)
    assert evidence["foreign_cores"] == pytest.approx((3 - 0.5 - evidence["own_cpu_seconds"]) / 3)
    assert [(p["name"], p["pid"], round(p["cores"], 3)) for p in evidence["foreign"]] == [
        ("a (b) c", 77, 0.667),
        ("new", 78, 0.033),
    ]
    assert kinds(evidence) == {
        "steal", "cpu_pressure", "io_pressure", "run_delay", "orchestrator_load", "foreign_load", "thermal",
        "clock_source",
    }  # fmt: skip
    assert "a (b) c (pid 77) used 0.67 cores" in texts(evidence)
    assert "have ended or are not visible here used 0.13 cores" in texts(evidence)


@linux_only
def test_a_throttled_control_group_is_named(tmp_path: Path) -> None:
    evidence = seen(tmp_path, {"throttled": 2}, {"throttled": 39, "throttled_ns": 1_200_000_000})
    assert (evidence["throttled_periods"], evidence["throttled_seconds"]) == (37, 1.2)
    assert "the control group was throttled 37 times, 1.2 s of 3.0 s" in texts(evidence)
    assert grade(evidence)["grade"] == "contaminated"


def test_throttling_of_version_2_counts_the_groups_above(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nnr_throttled 1\nthrottled_usec 250000\n",
            "sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_throttled 2\nthrottled_usec 500000\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
        },
    )
    found = throttling(root)
    assert found is not None
    assert (found.periods, found.seconds) == (3, 0.75)
    assert throttling(tmp_path / "nothing") is None


@linux_only
def test_disks_count_once_and_without_what_the_worker_wrote(tmp_path: Path) -> None:
    sectors = 812_000_000 // 512
    assert disk_transfers(machine(tmp_path / "disk", read=2, written=sectors)) == Transfers(
        1024, sectors * 512
    )
    evidence = seen(tmp_path, {}, {"written": sectors + 2000, "own_written": 1_024_000})
    assert evidence["disk_written_bytes_by_others"] == sectors * 512
    assert "another process wrote 812 MB to disk during the timed part" in texts(evidence)


@linux_only
@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_jump_of_the_clock_of_the_day_changes_no_duration_and_is_named(tmp_path: Path, jump: int) -> None:
    evidence = seen(tmp_path, {}, {"waited": 1}, jump_ns=jump * SECOND)
    assert evidence["seconds"] == 3
    assert evidence["wall_clock_jump_seconds"] == jump
    assert kinds(evidence) == {"clock_jump"}
    assert f"{'forward' if jump > 0 else 'back'} by 3600.0 s" in texts(evidence)


def test_without_proc_nothing_is_claimed(tmp_path: Path) -> None:
    evidence = between(read(1, root=tmp_path), read(1, root=tmp_path))
    unknown = [name for name, value in evidence.items() if value is None]
    assert {"steal_share", "cpu_pressure_share", "run_delay_share", "foreign_cores", "foreign"} <= set(
        unknown
    )
    assert {"throttled_periods", "disk_written_bytes_by_others", "thermal_throttles", "clock_source"} <= set(
        unknown
    )
    assert [reason["kind"] for reason in grade(evidence)["reasons"]] == ["unknown"]
    json.dumps(evidence)


def test_a_later_process_of_the_same_number_counts_from_its_own_start() -> None:
    first = {5: Process("old", 1, 10, 8.0), 6: Process("same", 1, 10, 8.0)}
    last = {5: Process("new", 1, 99, 2.0), 6: Process("same", 1, 10, 9.0)}
    assert cpu_seconds_between(first, last, [5, 6, 7]) == {5: 2.0, 6: 1.0}


def test_descendants_are_found_at_any_depth() -> None:
    table = {pid: Process("p", parent, 0, 0.0) for pid, parent in {2: 1, 3: 2, 4: 3, 5: 1}.items()}
    assert descendants(table, 2) == {2, 3, 4}


@linux_only
def test_this_process_is_in_the_table() -> None:
    own = processes()[os.getpid()]
    assert own.parent == os.getppid()
    assert own.cpu_seconds > 0


CHILDREN = """
import json, os, subprocess, sys
from benchmarker.worker.measurement.evidence import between, read

BURN = '''
import time
while time.process_time() < {seconds}:
    pass
print("burnt", flush=True)
time.sleep({rest})
'''

def burn(seconds, rest):
    source = BURN.format(seconds=seconds, rest=rest)
    child = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "burnt\\n"
    return child

living = burn(0.4, 1000)
first = read(os.getppid())
burn(0.5, 0).wait()
after = read(os.getppid())
living.kill()
living.wait()
last = read(os.getppid())
print(json.dumps([between(first, after), between(after, last), living.pid]))
"""


@linux_only
def test_what_the_worker_started_is_its_own() -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILDREN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    during, after, living = json.loads(child.stdout)
    assert during["own_cpu_seconds"] >= 0.5
    assert living not in [process["pid"] for process in during["foreign"]]
    # What the killed child had used before must not be charged to the time in which it was reaped.
    assert after["own_cpu_seconds"] < 0.3


@linux_only
def test_checkpoints_tell_what_passed_between_them() -> None:
    checkpoints = Checkpoints()
    for step in (10, 20):
        sum(range(300_000))
        checkpoints.note(step)
    found = checkpoints.to_json()
    assert found["step"] == [0, 10, 20]
    for name in ("seconds", "own_cpu_seconds"):
        assert found[name] == sorted(found[name])
        assert found[name][-1] > found[name][0]
    for name in ("run_delay_seconds", "involuntary_switches", "busy_seconds", "stolen_seconds"):
        assert None not in found[name]
        assert found[name] == sorted(found[name])
    json.dumps(found)


@linux_only
def test_checkpoints_close_their_files_when_they_are_gone() -> None:
    before = open_files()
    checkpoints = Checkpoints()
    assert len(open_files()) > len(before)
    del checkpoints
    gc.collect()
    assert open_files() == before


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def test_checkpoints_leave_a_file_that_is_slow_to_read(tmp_path: Path) -> None:
    cpus = os.cpu_count() or 1
    stat = f"cpu  {3 * TICKS} 0 0 {5 * TICKS} 0 0 0 {TICKS} 0 0\n"
    root = plant(tmp_path, {"proc/stat": stat, "proc/uptime": f"100.00 {100 * cpus - 4}.00\n"})
    quick = Checkpoints(root).to_json()
    assert (quick["busy_seconds"], quick["stolen_seconds"]) == ([3], [1])
    slow = Checkpoints(root, dearest_ns=-1).to_json()
    assert (slow["busy_seconds"], slow["stolen_seconds"]) == ([4], [None])


def test_checkpoints_without_proc_know_their_own_process_alone(tmp_path: Path) -> None:
    found = Checkpoints(tmp_path).to_json()
    assert found["busy_seconds"] == found["run_delay_seconds"] == [None]
    assert found["own_cpu_seconds"][0] > 0


def test_a_reading_holds_every_kind_of_counter() -> None:
    reading = read(os.getppid())
    assert isinstance(reading, Reading)
    assert reading.pid == os.getpid()
    assert reading.usage.ru_utime > 0
