"""Every way a run can end badly becomes a record with the right status, and the next run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Finished
from tests.support.waiting import wait_until

pytestmark = pytest.mark.framework("numpy")

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=3", "--warmup=1", "--json")


def run_fault(faulty: Command, fault: str, *options: str) -> Finished:
    return faulty("--framework=faulty,numpy", *QUICK, f"--set=fault={fault}", *options)


def failed_record(finished: Finished) -> dict[str, Any]:
    """Return the faulty run's record, after seeing that the run beside it was not harmed."""
    assert finished.status == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    bad, good = finished.records
    assert good["status"] == "ok"
    assert good["framework"]["name"] == "numpy"
    return bad


def test_without_a_fault_the_framework_runs(faulty: Command) -> None:
    finished = run_fault(faulty, "none")
    assert finished.status == 0
    assert [record["status"] for record in finished.records] == ["ok", "ok"]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGSEGV,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGTERM,
        signal.SIGKILL,
    ],
)
def test_a_signal_is_a_crash(faulty: Command, number: signal.Signals) -> None:
    record = failed_record(run_fault(faulty, "signal", f"--set=number={int(number)}"))
    assert record["status"] == "crashed"
    assert record["error"]["type"] == number.name
    assert record["error"]["stage"] == "build"


def test_a_crash_leaves_where_it_happened_in_the_log(faulty: Command) -> None:
    record = failed_record(run_fault(faulty, "signal", f"--set=number={int(signal.SIGSEGV)}"))
    assert "go_wrong" in record["error"]["log_tail"]


def test_an_exception_has_its_traceback_in_the_log_only(faulty: Command) -> None:
    finished = run_fault(faulty, "exception")
    record = failed_record(finished)
    assert record["status"] == "failed"
    assert record["error"]["type"] == "ValueError"
    assert record["error"]["message"] == "the plugin's own mistake"
    assert "Traceback" in record["error"]["log_tail"]


@pytest.mark.parametrize("fault", ["memory_error", "bad_alloc"])
def test_lack_of_memory_in_the_process(faulty: Command, fault: str) -> None:
    assert failed_record(run_fault(faulty, fault))["status"] == "out_of_memory"


@pytest.mark.parametrize("number", [0, 3])
def test_leaving_without_a_result(faulty: Command, number: int) -> None:
    record = failed_record(run_fault(faulty, "exit", f"--set=number={number}"))
    assert record["status"] == "crashed"
    assert f"exit status {number}" in record["error"]["message"]


def test_sys_exit_is_no_result(faulty: Command) -> None:
    assert failed_record(run_fault(faulty, "system_exit"))["status"] == "crashed"


@pytest.mark.parametrize("fault", ["hang", "hang_in_c", "ignore_sigterm"])
def test_a_hang_ends_at_the_timeout(faulty: Command, fault: str) -> None:
    record = failed_record(run_fault(faulty, fault, "--timeout=6"))
    assert record["status"] == "timeout"
    assert "6 s" in record["error"]["message"]
    assert "go_wrong" in record["error"]["log_tail"]


def test_megabytes_of_output_stay_in_the_log(faulty: Command) -> None:
    finished = run_fault(faulty, "noise")
    record = failed_record(finished)
    assert record["error"]["message"] == "after the noise"
    assert "last words" in record["error"]["log_tail"]
    assert len(record["error"]["log_tail"]) < 20_000
    log = faulty.folder / "results" / record["log"]
    assert 0 < log.stat().st_size < 3 << 20


def test_garbage_on_the_event_pipe_is_ignored(faulty: Command) -> None:
    finished = run_fault(faulty, "garbage")
    assert [record["status"] for record in finished.records] == ["ok", "ok"]


def test_a_closed_event_pipe_is_no_result(faulty: Command) -> None:
    assert failed_record(run_fault(faulty, "close_pipes", "--timeout=20"))["status"] in ("crashed", "failed")


def test_a_child_left_behind_is_ended_and_not_waited_for(faulty: Command) -> None:
    start = time.monotonic()
    finished = run_fault(faulty, "child")
    assert [record["status"] for record in finished.records] == ["ok", "ok"]
    assert time.monotonic() - start < 500  # it sleeps a thousand
    assert not workers_of(faulty)


def test_a_wrong_result_fails_verification(faulty: Command) -> None:
    record = failed_record(run_fault(faulty, "wrong"))
    assert record["status"] == "failed"
    assert record["error"]["type"] == "VerificationFailed"
    assert record["verification"]["status"] == "failed"
    worst = record["verification"]["worst"]
    assert not worst["passed"]
    assert worst["norm_error"] > worst["norm_tolerance"]
    assert record["timing"]["samples_seconds"] == []


def test_no_verify_says_so(faulty: Command) -> None:
    finished = run_fault(faulty, "wrong", "--no-verify")
    assert [record["verification"]["status"] for record in finished.records] == ["skipped", "skipped"]
    assert "--no-verify" in finished.records[0]["command"]


def workers_of(command: Command) -> list[int]:
    """Return the processes that still run a worker of this test, found by its cache folder."""
    mark = b"PYTHONHASHSEED="
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if b"bootstrap.py" in (entry / "cmdline").read_bytes():
                environment = (entry / "environ").read_bytes()
                if mark in environment and str(command.folder).encode() in environment:
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def start_hanging(faulty: Command) -> subprocess.Popen[str]:
    process = faulty.start("--framework=faulty,numpy", *QUICK, "--set=fault=hang")
    while not (faulty.folder / "hanging").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_worker_and_leaves_a_record(faulty: Command, number: signal.Signals) -> None:
    process = start_hanging(faulty)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    (record,) = Finished(process.returncode, stdout, stderr).records
    assert record["status"] == "interrupted"
    assert record["replication"]["stop_reason"] == "interrupted"
    assert not workers_of(faulty)
    assert len(list((faulty.folder / "results").glob("*.json"))) == 1


def test_a_worker_does_not_outlive_a_killed_orchestrator(faulty: Command) -> None:
    process = start_hanging(faulty)
    assert workers_of(faulty)
    process.kill()
    process.communicate(timeout=60)
    assert wait_until(lambda: not workers_of(faulty), 10)


def memory_group(name: str, limit: int) -> Path | None:
    """Make a control group with a memory limit; None where the kernel does not let us."""
    roots = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}
    for root, limit_file in roots.items():
        group = Path(root, name)
        try:
            group.mkdir()
            (group / limit_file).write_text(str(limit))
        except OSError:
            continue
        return group
    return None


def test_the_kernels_kill_is_out_of_memory(faulty: Command) -> None:
    group = memory_group(f"benchmarker-test-{os.getpid()}", 400 << 20)
    if group is None:
        pytest.skip("no right to make a control group with a memory limit")
    try:
        process = faulty.start(
            "--framework=faulty,numpy",
            *QUICK,
            "--set=fault=memory",
            "--set=number=2000",
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())),
        )
        stdout, stderr = process.communicate(timeout=120)
        record = failed_record(Finished(process.returncode, stdout, stderr))
    finally:
        group.rmdir()
    assert record["status"] == "out_of_memory"
    assert "kernel" in record["error"]["message"]


def test_a_reference_that_takes_too_long_says_so(command: Command) -> None:
    finished = command("--framework=numpy", "--problem=resnet50", "--seed=9", "--timeout=1", "--json")
    assert finished.status == 1
    (record,) = finished.records
    assert (record["status"], record["error"]["stage"]) == ("timeout", "reference")
    assert "--no-verify" in record["error"]["message"]
