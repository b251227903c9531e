"""Each kind of evidence makes a run noisy or contaminated above its limit, and says what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarker.machine import trust
from benchmarker.machine.trust import LIMITS, anonymous, disturbed, grade

QUIET: dict[str, Any] = {
    "seconds": 3.0,
    "cpus": 2,
    "steal_share": 0.0,
    "busy_cores": 1.0,
    "cpu_pressure_share": 0.0,
    "io_pressure_share": 0.0,
    "memory_pressure_share": 0.0,
    "own_cpu_seconds": 3.0,
    "threads_busy": 1.0,
    "threads_runnable": 1.0,
    "run_delay_seconds": 0.001,
    "run_delay_share": 0.0003,
    "orchestrator_cores": 0.0,
    "foreign_cores": 0.0,
    "foreign_unnamed_cores": 0.0,
    "foreign": [],
    "throttled_periods": 0,
    "throttled_seconds": 0.0,
    "disk_read_bytes_by_others": 0,
    "disk_written_bytes_by_others": 0,
    "wall_clock_jump_seconds": 0.0001,
    "clock_source": "tsc",
    "thermal_throttles": 0,
}
ONE_THREAD = {"own_cpu_seconds": 2.3, "threads_busy": 0.77, "threads_runnable": 0.97}
"""Of a worker that never has two threads which could wait for each other."""
CASES = [
    ("steal", {"steal_share": 0.01}, "noisy", "a hypervisor gave 1.0 % of the cores' time to others"),
    ("steal", {"steal_share": 0.06}, "contaminated", "6.0 %"),
    (
        "run_delay",
        {"run_delay_seconds": 0.06, "run_delay_share": 0.02, "foreign_cores": 0.09},
        "noisy",
        "spent 2.0 % of the time waiting for a core that others used",
    ),
    ("run_delay", {"run_delay_seconds": 0.6, "run_delay_share": 0.2, **ONE_THREAD}, "contaminated", "20.0 %"),
    (
        "cpu_pressure",
        {"cpu_pressure_share": 0.06, "foreign_cores": 0.09},
        "noisy",
        "waited for a core 6.0 %",
    ),
    ("io_pressure", {"io_pressure_share": 0.6}, "contaminated", "waited for a disk 60.0 %"),
    ("memory_pressure", {"memory_pressure_share": 0.1}, "noisy", "waited for memory 10.0 %"),
    (
        "foreign_load",
        {"foreign_cores": 0.98, "foreign": [{"name": "python3", "pid": 123, "cores": 0.98}]},
        "contaminated",
        "python3 (pid 123) used 0.98 cores",
    ),
    ("foreign_load", {"foreign_cores": 0.2}, "noisy", "other processes together used 0.20 cores"),
    ("orchestrator_load", {"orchestrator_cores": 0.2}, "noisy", "benchmarker itself used 0.20 cores"),
    (
        "throttled",
        {"throttled_periods": 37, "throttled_seconds": 1.2},
        "contaminated",
        "the control group was throttled 37 times, 1.2 s of 3.0 s",
    ),
    ("throttled", {"throttled_periods": 1, "throttled_seconds": 0.01}, "noisy", "throttled once"),
    (
        "disk_writes",
        {"disk_written_bytes_by_others": 812e6},
        "noisy",
        "another process wrote 812 MB to disk during the timed part",
    ),
    ("disk_reads", {"disk_read_bytes_by_others": 90e6}, "noisy", "another process read 90 MB from disk"),
    ("clock_jump", {"wall_clock_jump_seconds": -7.0}, "noisy", "set back by 7.0 s"),
    ("thermal", {"thermal_throttles": 2}, "noisy", "slowed down by heat 2 times"),
    ("clock_source", {"clock_source": "hpet"}, "noisy", "'hpet'"),
    ("disturbed", {"steady_state": "disturbed"}, "noisy", "while the machine was disturbed"),
]


def graded(changes: dict[str, Any]) -> dict[str, Any]:
    steady = changes.get("steady_state", "flat")
    return grade({**QUIET, **{k: v for k, v in changes.items() if k != "steady_state"}}, steady)


def test_a_quiet_run_is_clean() -> None:
    assert graded({}) == {"grade": "clean", "reasons": []}


@pytest.mark.parametrize(("kind", "changes", "severity", "text"), CASES)
def test_each_disturbance_is_graded_and_named(
    kind: str, changes: dict[str, Any], severity: str, text: str
) -> None:
    found = graded(changes)
    assert found["grade"] == severity
    (reason,) = found["reasons"]
    assert (reason["kind"], reason["severity"]) == (kind, severity)
    assert text in reason["text"]
    if kind in LIMITS:
        assert reason["limit"] == LIMITS[kind].noisy < reason["value"]


@pytest.mark.parametrize(
    "changes",
    [
        {"steal_share": 0.005},
        {"run_delay_seconds": 0.03, "run_delay_share": 0.01, "foreign_cores": 0.09},
        {"run_delay_seconds": 1.5, "run_delay_share": 0.4, "own_cpu_seconds": 6.0},
        {"cpu_pressure_share": 0.05, "foreign_cores": 0.09},
        {"cpu_pressure_share": 0.9},
        {"foreign_cores": 0.1},
        {"orchestrator_cores": 0.05},
        {"disk_written_bytes_by_others": 29e6},
        {"wall_clock_jump_seconds": 0.1},
        {"clock_source": "kvm-clock"},
        {"steady_state": "warmup"},
        {"steady_state": "no_steady_state"},
        {"steady_state": None},
    ],
)
def test_what_is_not_above_its_limit_is_no_reason(changes: dict[str, Any]) -> None:
    assert graded(changes)["grade"] == "clean"


@pytest.mark.parametrize(
    "changes",
    [{"steal_share": 0.4}, {"foreign_cores": 0.8}, {"orchestrator_cores": 0.8}],
)
def test_a_tick_or_two_in_a_short_run_are_not_believed(changes: dict[str, Any]) -> None:
    assert graded({"seconds": 0.05, **changes})["grade"] == "clean"
    assert graded({"seconds": 0.5, **changes})["grade"] == "contaminated"


def test_the_worst_reason_comes_first_and_decides() -> None:
    found = graded({"thermal_throttles": 1, "steal_share": 0.06, "io_pressure_share": 0.1})
    assert found["grade"] == "contaminated"
    assert [reason["severity"] for reason in found["reasons"]] == ["contaminated", "noisy", "noisy"]


def test_gpu_processes_contaminate() -> None:
    found = grade(QUIET, "flat", [{"index": 0, "other_processes": 0}, {"index": 1, "other_processes": 2}])
    assert found["grade"] == "contaminated"
    assert found["reasons"][0]["text"] == "2 other processes used GPU 1"
    assert grade(QUIET, "flat", [{"index": 0, "other_processes": None}])["grade"] == "clean"


def test_without_names_the_number_of_a_process_remains() -> None:
    evidence = {**QUIET, "foreign_cores": 0.9, "foreign": [{"name": "secret", "pid": 9, "cores": 0.9}]}
    (reason,) = grade(anonymous(evidence))["reasons"]
    assert reason["text"] == "a process (pid 9) used 0.90 cores"
    assert anonymous({**QUIET, "foreign": None})["foreign"] is None
    assert evidence["foreign"][0]["name"] == "secret"


def test_every_kind_is_in_the_table_of_the_module() -> None:
    text = trust.__doc__ or ""
    rows = {word.strip(",") for line in text.splitlines() for word in line.split("  ")[0].split()}
    assert set(LIMITS) | {case[0] for case in CASES} | {"unknown"} <= rows


def checkpoints(**changes: Sequence[float | None]) -> dict[str, Any]:
    """Return a quiet second of one busy thread, noted every tenth of it, ten steps each."""
    tenths = [tenth / 10 for tenth in range(11)]
    return {
        "cpus": 2,
        "step": list(range(0, 101, 10)),
        "seconds": tenths,
        "own_cpu_seconds": tenths,
        "run_delay_seconds": [5.0] * 11,
        "involuntary_switches": [3] * 11,
        "busy_seconds": [1000 + tenth for tenth in tenths],
        "stolen_seconds": [2.0] * 11,
        **changes,
    }


BUSY = checkpoints()["busy_seconds"]


def rising(start: float, last_half: float) -> list[float]:
    """Return a counter that rises in the second half only."""
    return [start] * 6 + [start + last_half * tenth / 5 for tenth in range(1, 6)]


DISTURBANCES = {
    "waiting": {
        "run_delay_seconds": rising(5.0, 0.09),
        "own_cpu_seconds": [0.08 * tenth for tenth in range(11)],
        "busy_seconds": [1000 + 0.08 * tenth for tenth in range(11)],
    },
    "foreign": {"busy_seconds": [b + f for b, f in zip(BUSY, rising(0.0, 0.4))]},
    "stolen": {"stolen_seconds": rising(2.0, 0.3)},
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_disturbance_is_dated(name: str) -> None:
    found = checkpoints(**DISTURBANCES[name])
    assert disturbed(found, 60, 100)
    assert disturbed(found, 50, 97)
    assert not disturbed(found, 0, 50)
    assert not disturbed(found, 12, 38)


def test_a_quiet_machine_disturbs_nothing() -> None:
    assert not disturbed(checkpoints(), 0, 100)


def test_threads_that_wait_for_each_other_are_no_disturbance() -> None:
    assert not disturbed(checkpoints(run_delay_seconds=rising(5.0, 0.4)), 50, 100)


def test_what_is_not_known_is_not_charged() -> None:
    unknown: list[float | None] = [None] * 11
    found = checkpoints(run_delay_seconds=unknown, busy_seconds=unknown, stolen_seconds=unknown)
    assert not disturbed(found, 0, 100)
    assert not disturbed({**checkpoints(), "step": [0]}, 0, 100)


def test_steps_beyond_the_last_checkpoint_belong_to_it() -> None:
    assert disturbed(checkpoints(**DISTURBANCES["waiting"]), 95, 140)
