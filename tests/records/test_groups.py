"""Processes that are fast or slow for their whole life are told apart, with what else differs between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from benchmarker.analysis.text import quality
from benchmarker.records.groups import differs, groups_of, split
from tests.support.records import SAMPLES, make_record

FAST = [0.0140, 0.0143, 0.0138, 0.0141, 0.0145, 0.0139, 0.0142, 0.0144, 0.0137, 0.0146, 0.0141, 0.0140]
SLOW = [0.0260, 0.0252, 0.0266, 0.0271, 0.0258]
ASTRAY = [0.0171, 0.0209, 0.0188]


def test_two_groups_are_found_whatever_the_order() -> None:
    seconds = [*FAST, *SLOW, *ASTRAY]
    random.Random(3).shuffle(seconds)
    found = split(seconds)
    assert found is not None
    assert [seconds[i] for i in found.slow.members if seconds[i] > 0.025] == [s for s in seconds if s > 0.025]
    assert found.fast.median_seconds == pytest.approx(0.0142, rel=0.03)
    assert found.slow.median_seconds > 0.02


@pytest.mark.parametrize(
    "seconds",
    [FAST, [*FAST, *SLOW[:2]], [0.014] * 20, [0.014] * 10 + [0.0145] * 10, FAST[:4] + SLOW[:3], [0.0, *FAST]],
    ids=["alike", "two apart", "equal", "near", "few", "a zero"],
)
def test_what_is_no_group_is_none(seconds: list[float]) -> None:
    assert split(seconds) is None


def test_processes_of_one_kind_are_seldom_said_to_fall_apart() -> None:
    draw = random.Random(1)
    kinds: tuple[Callable[[], float], ...] = (
        lambda: draw.gauss(0, 0.05),
        lambda: draw.expovariate(20),
        lambda: draw.uniform(-0.1, 0.1),
    )
    for kind in kinds:
        alarms = sum(split([2.0 ** kind() for _ in range(12)]) is not None for _ in range(200))
        assert alarms <= 20


def process(seconds: float, faults: float, memory: int) -> dict[str, Any]:
    record = make_record([sample * seconds / 0.0516 for sample in SAMPLES])
    record["trust"]["evidence"]["minor_faults_per_step"] = faults
    record["execution"]["process"]["resident_bytes"] = memory
    return record


def test_what_tells_them_apart_is_said() -> None:
    records = [process(s, 4, 400 << 20) for s in FAST] + [process(s, 3200, 396 << 20) for s in SLOW]
    found = groups_of(records)
    assert found is not None
    assert [one.name for one in found.differences] == ["minor page faults per step", "resident memory"]
    said = quality.groups(records) or ""
    assert said.startswith("12 of 17 processes at 14")
    assert (
        "minor page faults per step 4.00 against 3,200, resident memory 400.0 MiB against 396.0 MiB" in said
    )
    assert said.endswith("try --allocator=no-trim")


def test_where_nothing_differs_that_is_said() -> None:
    said = quality.groups([process(s, 4, 400 << 20) for s in (*FAST, *SLOW)]) or ""
    assert said.endswith("what differs: nothing that is recorded")
    assert quality.groups([process(s, 4, 400 << 20) for s in FAST]) is None


def test_a_rank_test_needs_enough_of_both() -> None:
    assert differs([1, 2, 3, 4, 5, 6], [7, 8, 9, 10])
    assert not differs([1, 2, 3], [4, 5, 6])
    assert not differs([1, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    assert not differs([1, 3, 5, 7, 9, 11], [2, 4, 6, 8, 10])
