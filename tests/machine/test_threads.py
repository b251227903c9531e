"""How many threads a run gets: as many as it is granted cores, never more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker.machine.threads import available_threads, default_threads, thread_fault, usable_cpus
from tests.conftest import Command
from tests.support.kernel_files import plant


def with_quota(root: Path, cores: float) -> Path:
    """Plant a control group of version 2 with a quota."""
    return plant(
        root,
        {
            "proc/self/cgroup": "0::/job\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "sys/fs/cgroup/job/cpu.max": f"{round(cores * 100_000)} 100000\n",
        },
    )


def with_cores(root: Path, threads_per_core: int, cpus: int = 8) -> Path:
    """Plant CPUs, neighbours of which are threads of one core."""
    files = {}
    for cpu in range(cpus):
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        files[f"{topology}/physical_package_id"] = "0\n"
        files[f"{topology}/core_id"] = f"{cpu // threads_per_core}\n"
    return plant(root, files)


@pytest.mark.parametrize(("threads_per_core", "expected"), [(1, 6), (2, 3)])
def test_the_default_is_one_thread_per_core(tmp_path: Path, threads_per_core: int, expected: int) -> None:
    assert default_threads(range(6), with_cores(tmp_path, threads_per_core)) == expected


def test_without_topology_the_default_is_one_thread_a_cpu(tmp_path: Path) -> None:
    assert default_threads((0, 1, 2), tmp_path) == 3


@pytest.mark.parametrize(("quota", "expected"), [(0.5, 1), (1.0, 1), (1.5, 2), (3.0, 3), (64.0, 4)])
def test_the_quota_bounds_the_threads_rounded_up(tmp_path: Path, quota: float, expected: int) -> None:
    root = with_quota(tmp_path, quota)
    assert available_threads(range(4), root) == expected
    assert default_threads(range(4), root) == expected


def test_both_threads_of_a_core_may_be_asked_for(tmp_path: Path) -> None:
    assert thread_fault(4, range(4), with_cores(tmp_path, 2)) is None


def test_more_than_granted_is_a_fault_that_names_who_grants(tmp_path: Path) -> None:
    assert thread_fault(5, range(4), tmp_path) == (
        "5 threads were asked for, but affinity grants 4; ask for 4 or fewer"
    )
    assert thread_fault(3, range(4), with_quota(tmp_path, 1.2)) == (
        "3 threads were asked for, but the control group's quota grants 2; ask for 2 or fewer"
    )
    assert thread_fault(0, range(4), tmp_path) == "the number of threads must be at least 1, got 0"


@pytest.mark.parametrize("affinity", [False, True])
def test_the_command_refuses_more_threads_than_granted(command: Command, affinity: bool) -> None:
    granted = 1 if affinity else available_threads()
    options = [f"--affinity={usable_cpus()[0]}"] if affinity else []
    finished = command("--framework=numpy", "--problem=mnist_mlp", f"--threads={granted + 1}", *options)
    assert (finished.status, finished.stdout) == (2, "")
    (line,) = finished.stderr.splitlines()
    assert f"{granted + 1} threads were asked for" in line
    assert list(command.folder.glob("results/*")) == []
