"""What ranks must have after a collective, against its definition in a few words, and what is seen of a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COLLECTIVES,
    POINT_TO_POINT,
    REDUCE_SCATTER,
    Collective,
)
from benchmarker.worker.ranks import collective_values
from benchmarker.worker.ranks.collective_values import BITS, Given, compare, expected_parts

Array = npt.NDArray[Any]
RANKS, SIZE = 4, 48


def vectors(collective: Collective, ranks: int = RANKS, dtype: Any = np.float64) -> list[Array]:
    return [Given(3).vector(rank, collective.given(ranks), dtype) for rank in range(ranks)]


DEFINITIONS: dict[str, Callable[[list[Array], int], Array]] = {
    ALL_REDUCE: lambda given, rank: np.sum(given, axis=0),
    BROADCAST: lambda given, rank: given[0],
    ALL_GATHER: lambda given, rank: np.concatenate(given),
    REDUCE_SCATTER: lambda given, rank: np.split(np.sum(given, axis=0), len(given))[rank],
    ALL_TO_ALL: lambda given, rank: np.concatenate([np.split(one, len(given))[rank] for one in given]),
    POINT_TO_POINT: lambda given, rank: given[1 - rank],
}


def expected(kind: str, rank: int, ranks: int = RANKS) -> Array:
    collective = Collective(kind, SIZE)
    return np.concatenate(list(expected_parts(collective, Given(3), rank, ranks)))


@pytest.mark.parametrize("chunk", [5, 1 << 20])
@pytest.mark.parametrize("kind", COLLECTIVES)
def test_each_rank_must_have_what_the_definition_says(
    kind: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collective_values, "CHUNK", chunk)
    ranks = 2 if kind == POINT_TO_POINT else RANKS
    collective = Collective(kind, SIZE)
    for rank in range(ranks):
        wanted = DEFINITIONS[kind](vectors(collective, ranks), rank)
        assert np.array_equal(expected(kind, rank, ranks), wanted)
        verdict = compare(collective, Given(3), wanted.astype(np.float32), rank, ranks)
        assert verdict.passed
        assert verdict.elements == verdict.compared == wanted.size


def test_vectors_are_whole_numbers_that_fill_their_range_and_differ() -> None:
    one, other = (Given(3).vector(rank, 100_000, np.float32) for rank in (0, 1))
    assert np.array_equal(one, np.rint(one))
    assert (one.min(), one.max()) == (-(2 ** (BITS - 1)), 2 ** (BITS - 1) - 1)
    assert abs(float(one.mean())) < 20
    further = Given(3, 1).vector(0, 100_000, np.float32)
    for different in (other, further, Given(4).vector(0, 100_000, np.float32)):
        assert np.mean(one == different) < 0.001
    assert np.array_equal(one[70_000:], Given(3).part(0, 70_000, 100_000))


def bfloat16(vector: Array) -> Array:
    bits = vector.astype(np.float32).view(np.uint32) + 0x8000
    return (bits & 0xFFFF0000).view(np.float32)


FAULTS: dict[str, Callable[[list[Array]], Array]] = {
    "a sum without one rank": lambda given: np.sum(given[:-1], axis=0),
    "the mean for the sum": lambda given: np.mean(given, axis=0),
    "the vector itself": lambda given: given[0],
    "one rank twice": lambda given: np.sum([*given, given[0]], axis=0),
    "nothing": lambda given: np.zeros_like(given[0]),
    "one element": lambda given: np.sum(given, axis=0) + np.eye(1, SIZE, 17)[0],
    "no number": lambda given: np.where(np.arange(SIZE) == 30, np.nan, np.sum(given, axis=0)),
    "too short": lambda given: np.sum(given, axis=0)[:-1],
    "too long": lambda given: np.append(np.sum(given, axis=0), 0.0),
    "in bfloat16": lambda given: np.sum([bfloat16(one) for one in given], axis=0),
    "in float16": lambda given: np.stack(given).astype(np.float16).sum(axis=0, dtype=np.float16),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_all_reduce_is_seen(fault: str) -> None:
    collective = Collective(ALL_REDUCE, SIZE)
    found = FAULTS[fault](vectors(collective))
    verdict = compare(collective, Given(3), found, 1, RANKS)
    assert not verdict.passed
    assert verdict.used > 1


@pytest.mark.parametrize("kind", [ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL])
def test_parts_of_another_rank_are_seen(kind: str) -> None:
    wrong = np.roll(expected(kind, 1), SIZE // RANKS) if kind != REDUCE_SCATTER else expected(kind, 2)
    assert not compare(Collective(kind, SIZE), Given(3), wrong, 1, RANKS).passed


def test_bandwidths_are_those_of_nccl_tests() -> None:
    factors = {kind: Collective(kind, SIZE).bus_factor(8) for kind in COLLECTIVES}
    assert factors == {
        ALL_REDUCE: 2 * 7 / 8,
        BROADCAST: 1.0,
        ALL_GATHER: 7 / 8,
        REDUCE_SCATTER: 7 / 8,
        ALL_TO_ALL: 7 / 8,
        POINT_TO_POINT: 1.0,
    }
    sent = {kind: Collective(kind, SIZE).sent(4) / SIZE for kind in COLLECTIVES}
    assert sent == {
        ALL_REDUCE: 6,
        BROADCAST: 3,
        ALL_GATHER: 3,
        REDUCE_SCATTER: 3,
        ALL_TO_ALL: 3,
        POINT_TO_POINT: 2,
    }
    assert Collective(POINT_TO_POINT, SIZE, 64).sent(2) == 64 * SIZE + 1
