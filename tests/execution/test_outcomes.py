"""How a worker ended decides the status of its run."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from benchmarker.api.launcher import Event, Outcome
from benchmarker.execution import outcomes
from benchmarker.execution.outcomes import LOG_TAIL_BYTES, Failure, failure, log_tail, oom_kills


def judged(outcome: Outcome, *events: Event, **changes: Any) -> Failure | None:
    arguments: dict[str, Any] = {
        "stage": "build",
        "events": {event["event"]: event for event in events},
        "tail": "",
        "killed_for_memory": False,
        "timeout": None,
        **changes,
    }
    return failure(outcome, **arguments)


ERROR = {
    "event": "error",
    "stage": "import",
    "type": "ImportError",
    "message": "no module",
    "out_of_memory": False,
}
WRONG = {"event": "verification", "status": "failed", "reason": "output 'y' differs"}

RESULT = {"event": "result"}


@pytest.mark.parametrize("status", ["passed", "inconclusive"])
@pytest.mark.parametrize("exit_status", [0, 1, -11])
def test_a_result_is_a_run_that_ended_well_however_the_process_left(status: str, exit_status: int) -> None:
    assert judged(Outcome(exit_status), RESULT, {"event": "verification", "status": status}) is None
    assert judged(Outcome(exit_status), RESULT) is None


def test_an_interrupt_goes_before_everything() -> None:
    assert judged(Outcome(-15, "interrupt"), ERROR, WRONG, RESULT) == Failure(
        "interrupted", "build", "KeyboardInterrupt", "interrupted by the user"
    )


def test_a_timeout_names_stage_and_limit() -> None:
    assert judged(Outcome(-9, "timeout"), timeout=2.5, killed_for_memory=True) == Failure(
        "timeout", "build", "Timeout", "still in stage 'build' after 2.5 s"
    )


def test_an_error_is_told_with_its_own_stage() -> None:
    assert judged(Outcome(1), ERROR) == Failure("failed", "import", "ImportError", "no module")
    assert judged(Outcome(-9), ERROR, killed_for_memory=True) == Failure(
        "failed", "import", "ImportError", "no module"
    )


def test_an_error_for_want_of_memory() -> None:
    found = judged(Outcome(1), {**ERROR, "out_of_memory": True})
    assert found is not None
    assert found.status == "out_of_memory"


def test_an_error_after_the_result_counts() -> None:
    assert judged(Outcome(1), ERROR, RESULT) is not None


def test_a_failed_verification_says_why() -> None:
    expected = Failure("failed", "verify", "VerificationFailed", "output 'y' differs")
    assert judged(Outcome(0), WRONG) == expected
    assert judged(Outcome(0), WRONG, RESULT) == expected


@pytest.mark.parametrize("exit_status", [0, 3, None])
def test_no_result_is_a_crash(exit_status: int | None) -> None:
    assert judged(Outcome(exit_status)) == Failure(
        "crashed",
        "build",
        "Exit",
        f"the worker ended with exit status {exit_status} in stage 'build' without a result",
    )


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_is_named(number: signal.Signals) -> None:
    assert judged(Outcome(-number)) == Failure(
        "crashed", "build", number.name, f"the worker was ended by {number.name} in stage 'build'"
    )


def test_a_signal_without_a_name_is_numbered() -> None:
    found = judged(Outcome(-36))
    assert found is not None
    assert found.type == "signal 36"


def test_the_kernels_kill_for_memory() -> None:
    assert judged(Outcome(-signal.SIGKILL), killed_for_memory=True) == Failure(
        "out_of_memory",
        "build",
        "SIGKILL",
        "the kernel killed the worker in stage 'build' because memory ran out",
    )
    crash = judged(Outcome(-signal.SIGSEGV), killed_for_memory=True)
    assert crash is not None
    assert crash.status == "crashed"


@pytest.mark.parametrize(
    "sign",
    ["std::bad_alloc", "std::length_error", "cudaErrorMemoryAllocation", "CUDA error: out of memory"],
)
def test_an_abort_after_a_sign_of_lack_of_memory(sign: str) -> None:
    tail = f"terminate called after throwing an instance of '{sign}'\nFatal Python error: Aborted"
    found = judged(Outcome(-signal.SIGABRT), tail=tail)
    assert found is not None
    assert (found.status, found.type) == ("out_of_memory", "SIGABRT")
    plain = judged(Outcome(-signal.SIGABRT), tail="terminate called")
    assert plain is not None
    assert plain.status == "crashed"


def test_the_log_of_a_run_that_left_by_itself_is_not_searched() -> None:
    found = judged(Outcome(1), tail="std::bad_alloc")
    assert found is not None
    assert found.status == "crashed"


# --- the log's tail ------------------------------------------------------------------------------


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\ntwö\n")
    assert log_tail(tmp_path / "log") == "one\ntwö\n"
    (tmp_path / "log").write_text("")
    assert log_tail(tmp_path / "log") == ""


def test_no_log_is_no_text(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "missing") == ""
    assert log_tail(tmp_path) == ""


def test_binary_garbage_is_text(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(range(256)) * 100)
    tail = log_tail(tmp_path / "log")
    assert len(tail) <= LOG_TAIL_BYTES
    assert tail.encode()
    assert "\ufffd" in tail


def test_a_character_cut_in_two_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes("é".encode() * LOG_TAIL_BYTES + b"end")
    assert log_tail(tmp_path / "log").endswith("ééend")


def test_of_a_huge_log_only_the_end_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as log:
        log.truncate(1 << 40)
        log.seek(0, 2)
        log.write(b"last words\n")
    tail = log_tail(tmp_path / "log")
    assert len(tail) == LOG_TAIL_BYTES
    assert tail.endswith("\\x00last words\n")


def test_kills_are_counted_as_far_as_they_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert oom_kills() >= 0
    monkeypatch.setattr(outcomes, "_control_group", lambda: tmp_path)
    without = oom_kills()
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\noom 4\noom_kill 3\n")
    assert oom_kills() == without + 3
    (tmp_path / "memory.events").write_text("nonsense\n")
    assert oom_kills() == without


def test_lines_that_were_no_events_are_told_of_where_a_result_is_missing() -> None:
    failed = failure(Outcome(0, "itself", 3), "build", {}, "", False, None)
    assert failed is not None
    assert failed.message.endswith("without a result; 3 lines on its event pipe were not events")


def test_what_the_engine_says_of_an_end_is_in_the_sentence() -> None:
    said = "srun: error: Node failure on n2"
    for status in (1, -9):
        found = judged(Outcome(status, reason=said))
        assert found is not None
        assert found.message.endswith(f": {said}")
