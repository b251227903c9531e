"""Which share of its own speed a machine had: by known work, against the best that it has shown before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.machine.speed import MAX_KEPT, Best, Shown, best_so_far, speed
from benchmarker.machine.trust import LIMITS, grade
from benchmarker.worker.measurement.speed_probe import INTERVAL_SECONDS, SpeedProbe
from tests.machine.test_trust import QUIET

FOUND = {
    "kernel": "known work",
    "probes": 9,
    "arithmetic_seconds": 1e-5,
    "arithmetic_slowest_seconds": 2e-5,
    "memory_seconds": 1e-3,
}
HERE = {"framework": "numpy", "threads": 1}


def test_what_was_found_before_is_kept_and_compared_with(tmp_path: Path) -> None:
    assert best_so_far(FOUND, HERE, tmp_path) is None
    slower = {**FOUND, "arithmetic_seconds": 2e-5, "memory_seconds": 0.8e-3}
    assert best_so_far(slower, HERE, tmp_path) == Best(1e-5, 1e-3)
    assert best_so_far(FOUND, HERE, tmp_path) == Best(1e-5, 0.8e-3)
    assert best_so_far(FOUND, {**HERE, "threads": 2}, tmp_path) is None
    assert best_so_far({**FOUND, "kernel": "other"}, HERE, tmp_path) is None


def test_one_lucky_probe_is_not_what_all_others_are_held_to(tmp_path: Path) -> None:
    best_so_far({**FOUND, "memory_seconds": 0.5e-3}, HERE, tmp_path)
    for _ in range(10):
        best_so_far(FOUND, HERE, tmp_path)
    assert best_so_far(FOUND, HERE, tmp_path) == Best(1e-5, 1e-3)


def test_what_is_long_ago_is_forgotten(tmp_path: Path) -> None:
    for _ in range(MAX_KEPT):
        best_so_far({**FOUND, "memory_seconds": 0.5e-3}, HERE, tmp_path)
    assert best_so_far(FOUND, HERE, tmp_path) == Best(1e-5, 0.5e-3)
    for _ in range(MAX_KEPT):
        best_so_far(FOUND, HERE, tmp_path)
    assert best_so_far(FOUND, HERE, tmp_path) == Best(1e-5, 1e-3)


def false_and_missed_alarms(spread: float, loss: float) -> tuple[float, float]:
    """Return how often a sound machine is graded down, and one that lacks a share of its speed is not.

    Memory probes are drawn as they vary on an idle virtual machine, by a log-normal law.
    """
    generator = np.random.default_rng(0)
    false = missed = 0
    runs = 2000
    shown = Shown()
    for value in 1e-3 * np.exp(spread * generator.standard_normal(runs)):
        best = shown.best()
        sound, slow = ({**FOUND, "memory_seconds": one} for one in (value, value / (1 - loss)))
        if best is not None:
            false += speed(sound, best)["share"] < 1 - LIMITS["slow_machine"].noisy
            missed += speed(slow, best)["share"] >= 1 - LIMITS["slow_machine"].noisy
        shown = shown.and_also(sound)
    return false / runs, missed / runs


def test_false_and_missed_alarms_are_few() -> None:
    false, missed = false_and_missed_alarms(spread=0.08, loss=0.4)
    assert false < 0.05
    assert missed < 0.01


def test_a_damaged_file_is_none(tmp_path: Path) -> None:
    best_so_far(FOUND, HERE, tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text("[]")
    assert best_so_far(FOUND, HERE, tmp_path) is None
    assert best_so_far(FOUND, HERE, tmp_path) is not None


def test_shares_are_of_the_best_and_at_most_one() -> None:
    found = speed(FOUND, Best(0.5e-5, 2e-3))
    assert (found["arithmetic_share"], found["memory_share"], found["share"]) == (0.5, 1.0, 0.5)
    assert speed(FOUND, None)["share"] is None


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, "clean"), (1.0, "clean"), (0.81, "clean"), (0.7, "noisy"), (0.4, "contaminated")],
)
def test_a_machine_that_lacks_speed_disturbs(share: float | None, expected: str) -> None:
    found: dict[str, Any] = {"share": share, "arithmetic_share": 1.0, "memory_share": share}
    graded = grade(QUIET, "flat", speed=found)
    assert graded["grade"] == expected
    if expected != "clean":
        assert graded["reasons"][0]["kind"] == "slow_machine"
        assert "by known memory traffic" in graded["reasons"][0]["text"]


def test_the_probe_is_made_once_an_interval() -> None:
    now = [0]

    def clock() -> int:
        now[0] += 1000
        return now[0]

    probe = SpeedProbe(clock)
    probe.at_end()
    for interval in (1, 2, 3):
        for _ in range(1000):
            probe.between()
        assert probe.to_json()["probes"] == interval
        now[0] += int(INTERVAL_SECONDS * 1e9)


def test_the_probe_times_known_work_shortly() -> None:
    probe = SpeedProbe()
    for _ in range(3):
        probe.at_end()
    found = probe.to_json()
    assert found["probes"] == 3
    assert 0 < found["arithmetic_seconds"] <= found["arithmetic_slowest_seconds"]
    assert found["arithmetic_seconds"] < 0.005 * INTERVAL_SECONDS
    assert 0 < found["memory_seconds"] < 0.1
    assert 0 < found["interpreter_seconds"] < 0.1
