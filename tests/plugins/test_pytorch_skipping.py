"""Skipped updates from what a loss scaler leaves behind, against every way in which a few steps can go."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest

from benchmarker.plugins.pytorch.skipping import SkippedUpdates, skipped_between

START = 1024.0


def scaled(tracker: int, skips: tuple[bool, ...], interval: int) -> tuple[float, int]:
    """Return scale and tracker after steps, by the rule of ``torch.amp.GradScaler``."""
    scale = START
    for skip in skips:
        tracker = 0 if skip else tracker + 1
        scale *= 0.5 if skip else 1.0
        if tracker == interval:
            scale, tracker = 2.0 * scale, 0
    return scale, tracker


@pytest.mark.parametrize("interval", [4, 6, 8])
def test_skips_are_told_exactly_where_only_one_number_is_possible(interval: int) -> None:
    known = 0
    for tracker, steps in itertools.product(range(interval), range(interval)):
        possible: defaultdict[tuple[float, int], set[int]] = defaultdict(set)
        for skips in itertools.product((False, True), repeat=steps):
            possible[scaled(tracker, skips, interval)].add(sum(skips))
        for after, numbers in possible.items():
            told = skipped_between((START, tracker), after, steps, interval)
            assert told == (numbers.pop() if len(numbers) == 1 else None)
            known += told is not None
    assert known > 50


class Scaler:
    """A scale that grows after four steps without a skip."""

    def __init__(self) -> None:
        self.scale, self.tracker = START, 0

    def state_dict(self) -> dict[str, float]:
        return {"scale": self.scale, "_growth_tracker": self.tracker}

    def get_scale(self) -> float:
        return self.scale

    def get_growth_interval(self) -> int:
        return 4


def test_what_lies_too_far_apart_is_not_told_then_or_later() -> None:
    scaler = Scaler()
    skips = SkippedUpdates(scaler)
    scaler.tracker = 3
    assert skips.counted(3) == 0
    scaler.scale, scaler.tracker = 2 * START, 1
    assert skips.counted(5) == 0
    assert skips.counted(9) is None
    assert skips.counted(9) is None


def test_a_scale_that_is_lowered_beside_the_steps_is_no_skip() -> None:
    scaler = Scaler()
    skips = SkippedUpdates(scaler)

    def lower() -> None:
        scaler.scale /= 4

    skips.may_lower(lower)()
    scaler.tracker = 2
    assert skips.counted(2) == 0
    scaler.scale, scaler.tracker = scaler.scale / 2, 0
    assert skips.counted(3) == 1
