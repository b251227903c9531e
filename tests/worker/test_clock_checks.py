"""Clocks that disagree are told, and a reader who is interrupted between two of them is not taken for it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from benchmarker.worker.measurement import clock_checks
from benchmarker.worker.measurement.clock_checks import ClockReading, contradictions, read_clocks

PAUSE = 0.2


def paused(times: int) -> Callable[[], float | None]:
    """Return a reader of the kernel's clock that is interrupted after so many of its first readings."""
    left, read = [times], clock_checks._uptime

    def uptime() -> float | None:
        value = read()
        if left[0]:
            left[0] -= 1
            time.sleep(PAUSE)
        return value

    return uptime


def test_clocks_are_read_again_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_checks, "_uptime", paused(1))
    assert read_clocks().lasted < PAUSE


def test_interruptions_that_do_not_end_contradict_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_checks, "MAX_READINGS", 2)
    first = read_clocks()
    monkeypatch.setattr(clock_checks, "_uptime", paused(2))
    last = read_clocks()
    assert last.lasted >= PAUSE
    assert not list(contradictions(first, last, 0.0))


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (ClockReading(1.0, 2.0, 0.0), "the kernel's 2 s"),
        (ClockReading(1.0, None, 1e6), "which is more than"),
    ],
)
def test_clocks_that_disagree_are_told(last: ClockReading, words: str) -> None:
    (told,) = contradictions(ClockReading(0.0, 0.0, 0.0), last, 0.0)
    assert words in told
