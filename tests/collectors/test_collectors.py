"""The built-in collectors against independent sources, and on machines that are not this one."""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarker.collectors import cpu, load, memory, operating_system, virtualization
from benchmarker.machine.procfs import control_groups
from benchmarker.machine.procfs.counters import CpuTimes
from benchmarker.machine.procfs.files import read_choice, read_index_list
from benchmarker.orchestration.collector_session import CollectorSession
from tests.support.collectors import NAMES, RUN, built_in, collected
from tests.support.kernel_files import plant

pytestmark = pytest.mark.usefixtures("facts_folder")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and /sys")


def test_every_built_in_collector_reads_or_says_why_not() -> None:
    collection = collected(built_in())
    assert list(collection.readings) == NAMES
    for name, outcome in collection.statuses.items():
        absent_here = name == "gpus" and collection.readings[name] == []
        assert outcome["status"] == ("absent" if absent_here else outcome["status"]) != "failed", (
            name,
            outcome,
        )
        assert (outcome["reason"] is None) == (outcome["status"] == "ok")


@linux_only
@pytest.mark.skipif(shutil.which("lscpu") is None, reason="needs lscpu")
def test_cpu_agrees_with_lscpu() -> None:
    def lscpu(*arguments: str) -> str:
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(
            ["lscpu", *arguments], check=True, capture_output=True, text=True, env=environment
        ).stdout

    fields = {item["field"].rstrip(":"): item["data"] for item in json.loads(lscpu("-J"))["lscpu"]}
    rows = [row.split(",") for row in lscpu("-p=CORE,SOCKET").splitlines() if not row.startswith("#")]
    facts = cpu.quick_facts()
    assert facts["architecture"] == fields["Architecture"]
    assert facts["logical_cores"] == os.sysconf("SC_NPROCESSORS_ONLN") == len(rows)
    assert facts["usable_cores"] == len(os.sched_getaffinity(0))
    if facts["sockets"] is not None:
        assert facts["sockets"] == len({socket_ for _, socket_ in rows})
        assert facts["physical_cores"] == len({core for core, _ in rows})
    if "Model name" in fields and facts["model"] is not None:
        assert (facts["model"], facts["vendor"]) == (fields["Model name"], fields["Vendor ID"])
        assert set(facts["flags"]) == set(fields["Flags"].split())
    caches = [row.split() for row in lscpu("--bytes", "-C=NAME,ONE-SIZE,ALL-SIZE").splitlines()[1:]]
    assert (facts["caches"] or {}) == {name: int(one) for name, one, _ in caches}
    totals = {name: size * facts["cache_instances"][name] for name, size in (facts["caches"] or {}).items()}
    assert totals == {name: int(total) for name, _, total in caches}


@linux_only
def test_usable_cores_follow_the_affinity() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cpu.quick_facts()["usable_cores"] == 1
    finally:
        os.sched_setaffinity(0, before)


def test_memory_agrees_with_the_c_library_and_psutil() -> None:
    facts = memory.facts()
    assert facts["total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert abs(facts["available_bytes"] - psutil.virtual_memory().available) < 0.1 * facts["total_bytes"]
    assert facts["swap_total_bytes"] == psutil.swap_memory().total
    assert abs(facts["swap_used_bytes"] - psutil.swap_memory().used) <= 0.1 * facts["swap_total_bytes"]


@linux_only
def test_operating_system_agrees_with_other_sources() -> None:
    facts = operating_system.facts()
    release = platform.freedesktop_os_release()
    assert facts["kernel"] == os.uname().release
    assert facts["distribution"] == {"name": release.get("NAME"), "version": release.get("VERSION_ID")}
    assert facts["python"]["version"] == sys.version.split()[0]
    if facts["libc"]["name"] == "glibc":
        version = ctypes.CDLL(None).gnu_get_libc_version
        version.restype = ctypes.c_char_p
        assert facts["libc"]["version"] == version().decode()
    assert facts["booted_at"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(psutil.boot_time()))
    assert abs(facts["uptime_seconds"] - time.clock_gettime(time.CLOCK_BOOTTIME)) < 5


def test_host_names_the_host_and_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    readings = collected(built_in("host")).readings["host"]
    assert readings == {
        "anonymous": False,
        "name": os.uname().nodename,
        "user": pwd.getpwuid(os.getuid()).pw_name,
    }


@linux_only
def test_load_sees_a_busy_core_before_the_timed_part_and_reads_both_parts() -> None:
    collector = built_in("load")
    with CollectorSession(RUN, collector, {}) as collection:
        began = time.monotonic()
        until = time.thread_time() + 0.4
        while time.thread_time() < until:
            math.sqrt(2.0)
        took = time.monotonic() - began
        collection.before_timing()
        time.sleep(0.2)
    readings = collection.readings["load"]
    preparation = readings["preparation"]
    assert preparation["seconds"] >= took - 0.01
    cores = preparation["cpu_busy_share"] * (os.cpu_count() or 1)
    assert cores * preparation["seconds"] > 0.8 * 0.4
    assert preparation["cpu_busy_share"] <= 1
    assert readings["timing"]["seconds"] > 0.19
    assert readings["start"]["tasks_running"] >= 1
    assert len(readings["end"]["load_average"]) == 3


def test_load_shares_are_exact() -> None:
    first = CpuTimes(at=10.0, total=1000, idle=600, stolen=5)
    second = CpuTimes(at=12.0, total=1400, idle=700, stolen=25)
    assert load.shares(first, second) == {"seconds": 2.0, "cpu_busy_share": 0.75, "cpu_stolen_share": 0.05}
    assert load.shares(first, first) is None


@linux_only
@pytest.mark.skipif(shutil.which("systemd-detect-virt") is None, reason="needs systemd-detect-virt")
def test_virtual_machine_agrees_with_systemd() -> None:
    told = subprocess.run(
        ["systemd-detect-virt", "--vm"], capture_output=True, text=True, check=False
    ).stdout.strip()
    kind = virtualization.facts()["machine"]["kind"]
    expected = {"qemu": "kvm", "oracle": "virtualbox", "microsoft": "hyper-v"}.get(told, told)
    assert kind in (expected, None, "unknown")
    assert (kind == "none") == (expected == "none") or kind is None


def test_cpu_of_a_machine_with_two_sockets_and_two_threads_per_core(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "model name : X\ncpu MHz : 1234.5\nflags : b a\n\nmodel name : Y\n",
        "sys/devices/system/cpu/online": "0-7\n",
        "sys/devices/system/node/online": "0-1\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2100000\n",
        "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
    }
    for number in range(8):
        folder = f"sys/devices/system/cpu/cpu{number}"
        siblings = f"{number % 4},{number % 4 + 4}\n"
        files[f"{folder}/topology/physical_package_id"] = f"{number % 4 // 2}\n"
        files[f"{folder}/topology/thread_siblings_list"] = siblings
        files |= {f"{folder}/cache/index0/level": "2", f"{folder}/cache/index0/type": "Unified"}
        files |= {f"{folder}/cache/index0/size": "512K", f"{folder}/cache/index0/shared_cpu_list": siblings}
    facts = cpu.quick_facts(plant(tmp_path, files))
    assert (facts["sockets"], facts["physical_cores"], facts["threads_per_core"]) == (2, 4, 2)
    assert (facts["logical_cores"], facts["numa_nodes"]) == (8, 2)
    assert (facts["caches"], facts["cache_instances"]) == ({"L2": 524288}, {"L2": 4})
    assert facts["frequency_mhz"] == {"current": 2100.0, "min": None, "max": 3500.0, "advertised": None}
    assert (facts["governor"], facts["turbo"]) == ("performance,powersave", False)
    assert (facts["model"], facts["flags"]) == ("X", ["a", "b"])


@pytest.mark.parametrize(
    "read", [cpu.quick_facts, memory.facts, operating_system.facts, virtualization.facts]
)
def test_without_proc_and_sys_facts_are_null_not_errors(read: Callable[[Path], Any], tmp_path: Path) -> None:
    here, elsewhere = read(Path("/")), read(tmp_path)
    assert elsewhere.keys() == here.keys()
    json.dumps(elsewhere, allow_nan=False)


def test_control_group_limits_of_both_versions(tmp_path: Path) -> None:
    second = {
        "proc/self/cgroup": "0::/job/step\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
        "sys/fs/cgroup/job/memory.max": "2147483648\n",
        "sys/fs/cgroup/job/step/memory.max": "4294967296\n",
    }
    limits = control_groups.limits(plant(tmp_path / "v2", second))
    assert limits == {"cgroup_version": 2, "cpus": 1.5, "memory_bytes": 2147483648}
    first = {
        "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/docker/abc\n1:memory:/docker/abc\n0::/\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    limits = control_groups.limits(plant(tmp_path / "v1", first))
    assert limits == {"cgroup_version": 1, "cpus": 0.5, "memory_bytes": None}


@pytest.mark.parametrize(
    ("files", "environment", "machine", "container"),
    [
        ({"proc/cpuinfo": "flags : fpu sse"}, {}, "none", None),
        ({"proc/cpuinfo": "flags : fpu hypervisor"}, {}, "unknown", None),
        ({"sys/class/dmi/id/product_name": "VMware Virtual Platform"}, {}, "vmware", None),
        ({"sys/class/dmi/id/sys_vendor": "QEMU", "run/.containerenv": ""}, {}, "kvm", "podman"),
        ({"proc/cpuinfo": "flags : fpu", "sys/class/dmi/id/sys_vendor": "Amazon EC2"}, {}, "none", None),
        ({"proc/sys/kernel/osrelease": "5.15-microsoft-standard-WSL2"}, {}, "wsl", None),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, None, "kubernetes"),
        ({"proc/self/cgroup": "1:cpu:/docker/0123abc"}, {}, None, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker-0123abc.scope"}, {}, None, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker.service"}, {}, None, None),
    ],
)
def test_kinds_of_machines_and_containers(
    files: dict[str, str], environment: dict[str, str], machine: str, container: str, tmp_path: Path
) -> None:
    facts = virtualization.facts(plant(tmp_path, files), environment)
    assert (facts["machine"]["kind"], facts["container"]["kind"]) == (machine, container)


def test_small_files(tmp_path: Path) -> None:
    plant(tmp_path, {"list": "0-2,8\n", "none": "\n", "odd": "0-\n", "choice": "always [madvise] never\n"})
    assert read_index_list(tmp_path / "list") == [0, 1, 2, 8]
    assert [read_index_list(tmp_path / name) for name in ("none", "odd", "absent")] == [None] * 3
    assert read_choice(tmp_path / "choice") == "madvise"
