"""py-cpuinfo's answer: out of the way of a run, asked once a boot, never waited for without end."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import pytest

from benchmarker.collectors import cpu
from benchmarker.machine.cpuinfo import boot_identity
from benchmarker.orchestration.collector_session import CollectorSession
from tests.conftest import Started
from tests.support.collectors import RUN, collected
from tests.support.waiting import is_alive, wait_until

pytestmark = pytest.mark.usefixtures("facts_folder")


def stand_in_probe(folder: Path, body: str) -> Path:
    """Write a probe that notes each of its starts in the file ``starts`` beside it."""
    path = folder / "probe.py"
    note = f"import os, sys, time, subprocess\nopen({str(folder / 'starts')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    path.write_text(note + body)
    return path


def starts(folder: Path) -> list[int]:
    path = folder / "starts"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_py_cpuinfo_answers_out_of_the_way_and_only_once_a_boot(facts_folder: Path, started: Started) -> None:
    inherited = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    collector = cpu.CpuCollector()
    try:
        with CollectorSession(RUN, {"cpu": collector}, {}) as collection:
            (probe,) = (process for process in started() if process.ppid() == os.getpid())
            if sys.platform == "linux":
                assert wait_until(lambda: probe.nice() == 19)
                assert os.getsid(probe.pid) == probe.pid
                assert str(inherited) not in os.listdir(f"/proc/{probe.pid}/fd")  # noqa: PTH208
            collection.before_timing()
            assert started() == []
    finally:
        os.close(inherited)
    readings = collection.readings["cpu"]
    assert readings["py_cpuinfo"]["reason"] is None
    assert readings["model"]
    assert readings["frequency_mhz"]["advertised"] or platform.machine() != "x86_64"
    (remembered,) = facts_folder.iterdir()
    assert str(boot_identity()) in remembered.name
    with CollectorSession(RUN, {"cpu": collector}, {}) as collection:
        assert started() == []
    assert collection.readings["cpu"]["py_cpuinfo"] == readings["py_cpuinfo"]


def test_the_timed_part_waits_for_the_probe(tmp_path: Path, started: Started) -> None:
    probe = stand_in_probe(tmp_path, 'time.sleep(1); print(\'{"brand_raw": "X", "flags": []}\')')
    collector = cpu.CpuCollector(probe)
    for _ in range(2):
        with CollectorSession(RUN, {"cpu": collector}, {}) as collection:
            collection.before_timing()
            assert started() == []
        assert collection.readings["cpu"]["py_cpuinfo"]["reason"] is None
    assert len(starts(tmp_path)) == 1  # what it answered is remembered


def test_a_run_that_ends_early_still_has_the_answer(tmp_path: Path) -> None:
    probe = stand_in_probe(tmp_path, "time.sleep(0.3); print('{\"hz_advertised\": [2000000000, 0]}')")
    with CollectorSession(RUN, {"cpu": cpu.CpuCollector(probe)}, {}) as collection:
        pass
    assert collection.readings["cpu"]["frequency_mhz"]["advertised"] == 2000.0


def test_a_hanging_probe_is_killed_with_all_it_started(tmp_path: Path, facts_folder: Path) -> None:
    body = (
        f"open({str(tmp_path / 'starts')!r}, 'a').write(f\"{{subprocess.Popen(['sleep', '600']).pid}}\\n\")\n"
    )
    probe = stand_in_probe(tmp_path, body + "time.sleep(600)")
    with CollectorSession(RUN, {"cpu": cpu.CpuCollector(probe, wait_seconds=0.8)}, {}) as collection:
        assert wait_until(lambda: len(starts(tmp_path)) == 2)
        collection.before_timing()
        assert wait_until(lambda: not any(map(is_alive, starts(tmp_path))))
    readings = collection.readings["cpu"]
    assert readings["py_cpuinfo"]["reason"] == "py-cpuinfo took longer than 0.8 s and was stopped"
    assert readings["logical_cores"] == os.cpu_count()
    assert collection.statuses["cpu"]["status"] == "ok"
    assert not facts_folder.exists()


@pytest.mark.parametrize(("body", "reason"), [("sys.exit(3)", "status 3"), ("print('[1')", "gave no answer")])
def test_without_an_answer_the_quick_facts_stand_alone(body: str, reason: str, tmp_path: Path) -> None:
    collector = cpu.CpuCollector(stand_in_probe(tmp_path, body))
    for _ in range(2):
        collection = collected({"cpu": collector})
        assert reason in collection.readings["cpu"]["py_cpuinfo"]["reason"]
        assert collection.readings["cpu"]["logical_cores"] == os.cpu_count()
    assert len(starts(tmp_path)) == 2  # no answer is nothing to remember


def test_a_damaged_or_unwritable_memory_is_no_obstacle(tmp_path: Path, facts_folder: Path) -> None:
    collector = cpu.CpuCollector(stand_in_probe(tmp_path, 'print(\'{"brand_raw": "X"}\')'))
    collected({"cpu": collector})
    (remembered,) = facts_folder.iterdir()
    remembered.write_text('{"brand_raw": ')
    assert collected({"cpu": collector}).readings["cpu"]["py_cpuinfo"]["reason"] is None
    shutil.rmtree(facts_folder)
    facts_folder.write_text("a file where the folder should be")
    assert collected({"cpu": collector}).readings["cpu"]["py_cpuinfo"]["reason"] is None
    assert len(starts(tmp_path)) == 3
