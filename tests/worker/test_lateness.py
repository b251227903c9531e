"""How late results are after a synchronisation, with frameworks that keep what they once fetched."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import pytest

from benchmarker.worker.measurement.lateness import (
    MAX_SHARE,
    MIN_COPIED_BYTES_PER_SECOND,
    share_late,
    waited_for,
)

STEP_SECONDS = 0.02
COPY_SECONDS = 0.06
COPIED = np.zeros(int(2 * COPY_SECONDS * MIN_COPIED_BYTES_PER_SECOND), np.int8)


class Result:
    """What a step gave: there at a time, copied to the host once."""

    def __init__(self, seconds: float) -> None:
        self.ready = time.perf_counter() + seconds
        self.copied = False


class Machine:
    """A device whose results take longer to copy than a step takes.

    Parameters
    ----------
    waits : bool
        Whether a synchronisation waits for it.
    """

    def __init__(self, waits: bool) -> None:
        self._waits = waits

    def step(self) -> Result:
        return Result(STEP_SECONDS)

    def synchronize(self, output: Result) -> None:
        if self._waits:
            _sleep_until(output.ready)

    def collect(self, output: Result) -> tuple[np.ndarray[Any, Any]]:
        _sleep_until(output.ready)
        if not output.copied:
            time.sleep(COPY_SECONDS)
        output.copied = True
        return (COPIED,)


class Uncopied(Machine):
    """One whose results are on the host already."""

    def collect(self, output: Result) -> tuple[np.ndarray[Any, Any]]:
        _sleep_until(output.ready)
        return (np.zeros(1),)


class Lazy(Machine):
    """One that begins a step only when its results are asked for, however late that is."""

    def collect(self, output: Result) -> tuple[np.ndarray[Any, Any]]:
        if not output.copied:
            time.sleep(STEP_SECONDS)
        output.copied = True
        return (np.zeros(1),)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


def share(machine: Any) -> float:
    """Return the middle of several: an interruption adds to one share, or ends a step before it is waited for."""
    return statistics.median(
        share_late(*waited_for(machine, machine.step, machine.collect)) for _ in range(5)
    )


@pytest.mark.parametrize("kind", [Machine, Uncopied])
def test_a_copy_that_is_kept_is_no_lateness(kind: type[Machine]) -> None:
    assert share(kind(waits=True)) <= MAX_SHARE
    assert share(kind(waits=False)) > MAX_SHARE


def test_work_that_begins_when_it_is_asked_for_is_no_copy() -> None:
    assert share(Lazy(waits=False)) > MAX_SHARE
