"""The same steps that take more CPU time for a while were disturbed; a program's own phases are not."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.machine.same_work import excess
from benchmarker.machine.trust import grade
from tests.machine.test_trust import QUIET

EVEN = [1.0, 1.01, 0.99, 1.02, 0.98] * 12
"""What steps of each of sixty intervals take."""


def checkpoints(each: list[float]) -> dict[str, Any]:
    """Return those of intervals of ten steps and a tenth of a second each, or as much longer as their steps take."""
    passed = [0.0]
    for value in each:
        passed.append(passed[-1] + 0.1 * value)
    return {"step": [10 * i for i in range(len(passed))], "own_cpu_seconds": passed, "seconds": passed}


def with_slow(*spans: tuple[int, int], rise: float = 0.5) -> list[float]:
    slow = {i for start, end in spans for i in range(start, end)}
    return [value * (1 + rise) if i in slow else value for i, value in enumerate(EVEN)]


def test_an_episode_is_found_with_its_size() -> None:
    found = excess(checkpoints(with_slow((20, 32))))
    assert found is not None
    assert found.rise == pytest.approx(0.5, abs=0.03)
    assert found.seconds == pytest.approx(1.8, rel=0.05)
    assert found.share == pytest.approx(6 / 66, rel=0.1)


OWN = {
    "nothing": EVEN,
    "at first": with_slow((0, 12)),
    "at last": with_slow((48, 60)),
    "single intervals": with_slow(*((i, i + 1) for i in (5, 11, 30, 34, 51))),
    "recurring": with_slow(*((i, i + 4) for i in range(4, 56, 10))),
    "little": with_slow((20, 32), rise=0.1),
    "few intervals": with_slow((5, 9))[:15],
    "nothing used": [0.0] * 60,
}


@pytest.mark.parametrize("name", OWN)
def test_what_is_the_programs_own_is_none(name: str) -> None:
    assert excess(checkpoints(OWN[name])) is None


def test_without_checkpoints_nothing_is_said() -> None:
    assert excess({}) is None


@pytest.mark.parametrize(
    ("rise", "expected"), [(0.0, "clean"), (0.16, "clean"), (0.5, "noisy"), (3.0, "contaminated")]
)
def test_it_is_graded(rise: float, expected: str) -> None:
    graded = grade(QUIET, "flat", checkpoints=checkpoints(with_slow((20, 32), rise=rise)))
    assert graded["grade"] == expected
    if expected != "clean":
        (reason,) = graded["reasons"]
        assert reason["kind"] == "same_work"
        assert "more CPU time than when undisturbed" in reason["text"]
