"""Two workers take turns: one times a window, the other stands still, and neither can hold up the other for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison.pairs import Pair, drifts, pair_of, window_ratios
from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.planning import plan
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.spec import Experiment
from benchmarker.orchestration import orchestrator, turns
from benchmarker.orchestration.orchestrator import Orchestrator
from benchmarker.orchestration.turns import Seat, Turns, side_by_side
from benchmarker.records.schema import validate
from benchmarker.records.store import Store
from benchmarker.worker.measurement.windows import steps_of_window, together
from tests.support.records import make_record
from tests.support.waiting import wait_until

EVIDENCE = make_record()["trust"]["evidence"]


def take(shared: Turns, side: int, log: list[int]) -> None:
    has_more = True
    while has_more:
        shared.wait(side)
        log.append(side)
        has_more = shared.end(side)
    shared.wait(side)
    shared.leave(side)


def test_sides_alternate_and_each_is_as_often_the_first() -> None:
    shared, log = Turns(2, 4), list[int]()
    other = threading.Thread(target=take, args=(shared, 1, log))
    other.start()
    take(shared, 0, log)
    other.join()
    assert log == [0, 1, 1, 0, 0, 1, 1, 0]


def test_nobody_begins_before_all_are_ready_and_who_leaves_is_not_waited_for() -> None:
    shared, log = Turns(2, 3), list[int]()
    waiting = threading.Thread(target=take, args=(shared, 1, log))
    waiting.start()
    waiting.join(0.05)
    assert log == []
    shared.leave(0)
    waiting.join()
    assert log == [1, 1, 1]


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def comes_to_be(process: int, state: str) -> bool:
    return wait_until(lambda: state_of(process) == state)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads the states of processes")
def test_the_other_stands_still() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    try:
        shared = Turns(2, 2)
        seat = Seat(shared, 1)
        answers: list[str | None] = []
        handle = seat.handler(lambda event: None)
        thread = threading.Thread(target=lambda: answers.append(handle({"event": "ready", "pid": child.pid})))
        thread.start()
        assert comes_to_be(child.pid, "T")
        shared.wait(0)
        shared.end(0)
        thread.join()
        # It may have been stopped while it read its modules from a disk.
        assert comes_to_be(child.pid, "R")
        assert answers == ["go"]
    finally:
        child.kill()
        child.wait()


def test_a_process_of_somebody_else_is_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda process, number: stopped.append(process))
    for process in (1, os.getpid(), os.getppid(), 2**22 + 1):
        shared = Turns(2, 1)
        shared.leave(1)
        handle = Seat(shared, 0).handler(lambda event: None)
        assert handle({"event": "ready", "pid": process}) == "go"
        assert handle({"event": "window_ended"}) == "stop"
    assert stopped == []


def test_what_runs_side_by_side_ends_before_an_error_is_told() -> None:
    ended: list[str] = []

    def fail() -> None:
        raise ValueError("the first")

    def last() -> None:
        time.sleep(0.05)
        ended.append("other")

    with pytest.raises(ValueError, match="the first"):
        side_by_side([fail, last])
    assert ended == ["other"]


def test_a_window_has_whole_blocks() -> None:
    assert steps_of_window(1e-3, 10, 0.2) == 200
    assert steps_of_window(1.0, 1, 0.2) == 3
    assert steps_of_window(0.0, 4, 0.2) % 4 == 0


def test_evidence_of_windows_adds_up() -> None:
    quiet = {**EVIDENCE, "seconds": 1.0, "minor_faults": 3, "foreign_cores": 0.0, "foreign": []}
    busy = {
        **EVIDENCE, "seconds": 3.0, "minor_faults": 4, "foreign_cores": 0.4, "steal_share": None,
        "foreign": [{"name": "a", "pid": 5, "cores": 0.4}],
    }  # fmt: skip
    found = together([quiet, busy])
    assert found.keys() == EVIDENCE.keys()
    assert (found["seconds"], found["minor_faults"], found["steal_share"]) == (4.0, 7, None)
    assert found["foreign_cores"] == pytest.approx(0.3)
    assert found["foreign"] == [{"name": "a", "pid": 5, "cores": pytest.approx(0.3)}]


# --- what is made of windows -------------------------------------------------------------------------


def in_windows(steps: list[float], begins: float) -> dict[str, Any]:
    """Return a record of windows of three samples each, which begin two seconds apart."""
    record = make_record([step for step in steps for _ in range(3)])
    record["timing"]["windows"] = [
        {
            "start": 3 * i,
            "end": 3 * i + 3,
            "began_seconds": begins + 2.0 * i,
            "ended_seconds": begins + 2.0 * i + 0.9,
        }
        for i in range(len(steps))
    ]
    return record


DRIFT = [0.010, 0.012, 0.015, 0.011, 0.019, 0.030, 0.022, 0.024]


def test_the_ratio_is_of_neighbouring_windows() -> None:
    first, other = in_windows(DRIFT, 0.0), in_windows([1.05 * step for step in DRIFT], 1.0)
    assert window_ratios(first, other) == pytest.approx([1.05] * 8)
    assert Pair(first, other, None).ratio == pytest.approx(1.05)
    first["trust"]["grade"] = "contaminated"
    assert pair_of(first, other).reason is None


def test_windows_at_the_same_time_are_no_turns() -> None:
    first, other = in_windows(DRIFT, 0.0), in_windows(DRIFT[1:], 0.5)
    assert window_ratios(first, other) == []
    assert window_ratios(first, make_record()) == []


def test_a_side_that_drifts_against_the_other_does_not_count() -> None:
    other = in_windows([step * 1.1**i for i, step in enumerate(DRIFT)], 1.0)
    assert pair_of(in_windows(DRIFT, 0.0), other).reason == "no steady state"
    assert not drifts([1.0, 1.1, 0.9, 1.2, 1.0, 1.05, 1.3, 0.8])


@pytest.mark.framework("numpy")
def test_a_pair_takes_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_home: Path) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(plain_home))
    monkeypatch.setattr(turns, "WINDOWS", 4)
    monkeypatch.setattr(orchestrator, "WINDOW_SECONDS", 0.02)
    runs = plan(
        Experiment(
            ("numpy",), ("mnist_mlp",), modes=("training",), batch_sizes=(4, 5), threads=(1,), warmup=(3,),
            environments=("current",), verify=False,
        )
    )  # fmt: skip
    made = list(Orchestrator(Store(tmp_path), Progress()).run_in_turns(Campaign(runs)))
    assert [run.record["status"] for run in made] == ["ok", "ok"]
    first, other = (json.loads(run.path.read_text()) for run in made)
    assert (validate(first), validate(other)) == ([], [])
    assert len(window_ratios(first, other)) == 4
    assert first["timing"]["windows"][-1]["end"] == len(first["timing"]["samples_seconds"])
    assert first["replication"]["campaign"] == other["replication"]["campaign"]


@pytest.mark.framework("numpy")
def test_a_side_that_fails_leaves_its_turns_to_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_home: Path
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(plain_home))
    monkeypatch.setattr(turns, "WINDOWS", 2)
    monkeypatch.setattr(orchestrator, "WINDOW_SECONDS", 0.02)
    killed: list[int] = []
    seen = Seat.handler

    def kill_the_second(self: Seat, inner: Any) -> Any:
        handle = seen(self, inner)

        def handler(event: dict[str, Any]) -> str | None:
            if self.side == 1 and event["event"] == "ready":
                killed.append(event["pid"])
                os.kill(event["pid"], signal.SIGKILL)
            return handle(event)

        return handler

    monkeypatch.setattr(Seat, "handler", kill_the_second)
    runs = plan(
        Experiment(
            ("numpy",), ("mnist_mlp",), modes=("inference",), batch_sizes=(4, 5), threads=(1,), warmup=(3,),
            environments=("current",), verify=False,
        )
    )  # fmt: skip
    made = list(Orchestrator(Store(tmp_path), Progress()).run_in_turns(Campaign(runs)))
    assert sorted(run.record["status"] for run in made) == ["crashed", "ok"]
    assert len(killed) == 1
