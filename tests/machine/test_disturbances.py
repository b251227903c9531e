"""Real disturbances in the middle of real runs are named in the record's ``trust``."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarker.machine.procfs.counters import disk_transfers
from benchmarker.machine.trust import disturbed
from tests.conftest import Command
from tests.support.command_lines import replaced

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
    pytest.mark.alone,
    pytest.mark.framework("numpy"),
]

PATIENT = '''
import contextlib
import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework

STEP_SECONDS = 0.002
DATA = bytes(1 << 20)


def benchmarker_framework():
    return FrameworkPlugin("patient", "numpy", ("numpy",), implementation="patient_framework:Patient")


class Patient(NumpyFramework):
    """Keeps one core busy, two if PATIENT_THREADS says so; writes a file once it is in its timed part."""

    def build(self, graph, parameters, **settings):
        program = super().build(graph, parameters, **settings)
        # Others on the machine of the tests must not decide what is found.
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("-15")
        if "PATIENT_GROUP" in os.environ:
            Path(os.environ["PATIENT_GROUP"], "cgroup.procs").write_text(str(os.getpid()))
        infer, threads, steps = program.infer, int(os.environ.get("PATIENT_THREADS", "1")), []
        pool = ThreadPoolExecutor(threads)

        def work(_):
            end = time.perf_counter() + STEP_SECONDS
            while time.perf_counter() < end:
                hashlib.sha256(DATA)

        def step(batch):
            list(pool.map(work, range(threads)))
            steps.append(None)
            if len(steps) == int(os.environ.get("PATIENT_STEPS", "0")):
                Path(os.environ["PATIENT_FILE"]).touch()
            return infer(batch)

        program.infer = step
        return program
'''
WARM_UP, TIMED_STEPS, STEPS_AT_START = 20, 1000, 320
CPU = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
HOG = f"import os; os.sched_setaffinity(0, {{{CPU}}})\nwhile True: pass"


@pytest.fixture
def patient(command: Command, distribution: Callable[..., Path], tmp_path: Path) -> Command:
    """The command with the framework ``patient``."""
    folder = distribution(
        "patient", {"frameworks": ["patient = patient_framework"]}, {"patient_framework": PATIENT}
    )
    known = command.with_path(folder)
    variables = {"PATIENT_FILE": str(tmp_path / "in the middle"), "PATIENT_STEPS": str(STEPS_AT_START)}
    return Command(known.folder, {**known.environment, **variables})


def started(patient: Command, *options: str) -> subprocess.Popen[str]:
    usual = (
        *("--framework=patient", "--problem=mnist_mlp", "--mode=inference", "--batch-size=1", "--threads=1"),
        *(f"--warmup={WARM_UP}", f"--steps={TIMED_STEPS}", "--no-verify", "--json"),
    )
    return patient.start(*replaced(usual, *options))


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the trust of its record."""
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    trust: dict[str, Any] = json.loads(stdout)["trust"]
    return trust


def wait_for_the_middle(patient: Command, process: subprocess.Popen[str]) -> None:
    while not Path(patient.environment["PATIENT_FILE"]).exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def reasons(trust: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {reason["kind"]: reason for reason in trust["reasons"]}


@contextlib.contextmanager
def hog() -> Iterator[int]:
    """Keep the worker's CPU busy, with precedence where that is allowed."""
    process = subprocess.Popen([sys.executable, "-c", HOG], start_new_session=True)
    with contextlib.suppress(OSError):
        Path(f"/proc/{process.pid}/autogroup").write_text("-15")
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_process_that_takes_the_core_is_named_and_dated(patient: Command) -> None:
    run = started(patient, f"--affinity={CPU}")
    wait_for_the_middle(patient, run)
    with hog() as pid:
        trust = finished(run)
    assert trust["grade"] == "contaminated"
    assert f"(pid {pid}) used " in reasons(trust)["foreign_load"]["text"]
    assert reasons(trust)["run_delay"]["value"] > 0.1
    assert disturbed(trust["checkpoints"], STEPS_AT_START, TIMED_STEPS)


def test_with_anonymous_the_process_has_no_name(patient: Command) -> None:
    run = started(patient, f"--affinity={CPU}", "--anonymous")
    wait_for_the_middle(patient, run)
    with hog() as pid:
        trust = finished(run)
    assert f"a process (pid {pid}) used " in reasons(trust)["foreign_load"]["text"]
    assert {process["name"] for process in trust["evidence"]["foreign"]} == {None}


@pytest.fixture
def little_of_a_core() -> Iterator[Path]:
    """A control group that may use 5 ms of every 100 ms, less than others leave it on a busy machine."""
    first, second = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    group = (first if first.is_dir() else second) / f"benchmarker-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error}")
    try:
        if first.is_dir():
            (group / "cpu.cfs_quota_us").write_text("5000")
        else:
            (group / "cpu.max").write_text("5000 100000")
        yield group
    except OSError as error:
        pytest.skip(f"control groups cannot be limited here: {error}")
    finally:
        group.rmdir()


def test_a_throttled_control_group_is_named(patient: Command, little_of_a_core: Path) -> None:
    inside = {**patient.environment, "PATIENT_GROUP": str(little_of_a_core)}
    trust = finished(started(Command(patient.folder, inside), "--steps=60"))
    reason = reasons(trust)["throttled"]
    assert reason["severity"] == trust["grade"] == "contaminated"
    assert reason["value"] > 0.3
    assert reason["text"].startswith("the control group was throttled ")


@contextlib.contextmanager
def writer(file: Path) -> Iterator[None]:
    """Write to the disk again and again, as a slow disk takes longer than the run for a given amount."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            write(file)

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def write(file: Path) -> None:
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=64", "conv=fsync"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def test_another_writer_on_the_disk_is_named(patient: Command, tmp_path: Path) -> None:
    before = disk_transfers()
    write(tmp_path / "data")
    after = disk_transfers()
    if before is None or after is None or after.written - before.written < 64 << 20:
        pytest.skip("what is written to the folder of temporary files goes to no disk that counts it")
    run = started(patient)
    wait_for_the_middle(patient, run)
    with writer(tmp_path / "data"):
        trust = finished(run)
    assert trust["evidence"]["disk_written_bytes_by_others"] >= 32 << 20
    text = reasons(trust)["disk_writes"]["text"]
    assert text.startswith("another process wrote ")
    assert text.endswith(" MB to disk during the timed part")


def reason_for_threads(patient: Command, threads: int) -> dict[str, Any] | None:
    """Return what the record has against a run of so many threads that asked for one."""
    several = {**patient.environment, "PATIENT_THREADS": str(threads)}
    trust = finished(started(Command(patient.folder, several), "--steps=300"))
    finding = next((one for one in trust["findings"] if one["kind"] == "threads"), None)
    assert finding is None or finding["excludes"]
    return finding


def test_a_framework_that_uses_the_threads_asked_for_is_not_suspected(patient: Command) -> None:
    assert reason_for_threads(patient, 1) is None


def test_a_framework_that_uses_more_threads_than_asked_for_is_found_out(patient: Command) -> None:
    # Others may leave two threads no more than one core between them, but not in every run.
    runs = (reason_for_threads(patient, 2) for _ in range(5))
    reason = next((found for found in runs if found is not None), None)
    assert reason is not None
    assert reason["text"].startswith("1 thread was asked for, ")
