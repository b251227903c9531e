"""Splits: every sample in one part, every class in each, the same indices for ever."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarker import registry
from benchmarker.data.splits import PARTS, split, split_before_test, split_in_order
from benchmarker.errors import UsageError

LABELS = np.repeat(np.arange(5), (40, 10, 25, 5, 100))


@pytest.fixture(scope="module")
def digits() -> Any:
    return registry.dataset_reader("digits")(None).labels


def test_the_digits_are_split_as_everywhere(digits: Any) -> None:
    found = split(digits, {"train": 0.8, "test": 0.2})
    assert found.counts == {"train": 1438, "validation": 0, "test": 359}
    assert found.digests["test"] == "sha256:d5dd850b7ed0d1e6716437dd23af4ce33ec203939a083369eddf81c16f47cb12"
    assert found.digest == "sha256:918130acb7f6da154234a4f3e2b929445a6658a46eb1ae1d1cbce0d927cb6723"


def test_the_rule_never_changes() -> None:
    found = split(LABELS, {"train": 0.6, "validation": 0.2, "test": 0.2}, seed=3)
    assert found.counts == {"train": 108, "validation": 36, "test": 36}
    assert found.digest == "sha256:b4cdbe2497435af520cba030c49dfdfdee10508ba2789a06f2141a3816747ac8"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(6, 60), min_size=1, max_size=6),
    st.sampled_from([(0.7, 0.1, 0.2), (0.5, 0.25, 0.25), (0.8, 0.0, 0.2), (1.0, 0.0, 0.0)]),
    st.integers(0, 2**31),
)
def test_every_sample_is_in_one_part_and_every_class_has_its_share(
    sizes: list[int], shares: tuple[float, ...], seed: int
) -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = split(labels, dict(zip(PARTS, shares)), seed)
    together = np.concatenate([getattr(found, name) for name in PARTS])
    assert np.array_equal(np.sort(together), np.arange(len(labels)))
    for name, share in zip(PARTS, shares):
        part = getattr(found, name)
        assert part.dtype == np.int64
        assert np.array_equal(part, np.sort(part))
        counts = np.bincount(labels[part], minlength=len(sizes))
        exact = [Fraction(str(share)) * size for size in sizes]
        # Train takes what the rounding of the two others leaves.
        room = 1 if name == "train" else Fraction(1, 2)
        assert all(abs(count - wanted) <= room for count, wanted in zip(counts.tolist(), exact))


def test_another_seed_gives_another_split_of_the_same_sizes() -> None:
    first, second = (split(LABELS, {"train": 0.8, "test": 0.2}, seed) for seed in (0, 1))
    assert first.counts == second.counts
    assert first.digest != second.digest


def test_a_class_more_moves_no_sample_of_the_others() -> None:
    few, more = (split(np.repeat(np.arange(classes), 20), seed=5) for classes in (2, 3))
    assert np.array_equal(few.test, more.test[more.test < 40])


def test_shares_are_the_decimals_that_they_are_written_as() -> None:
    # In binary, 0.29 * 50 is less than 14.5.
    found = split(np.zeros(100, np.int64), {"train": 0.7, "validation": 0.2, "test": 0.1})
    assert found.counts == {"train": 70, "validation": 20, "test": 10}
    assert split(np.zeros(50, np.int64), {"train": 0.71, "test": 0.29}).counts["test"] == 15


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"train": 0.9, "tset": 0.1}, "unknown part of a data set 'tset'; did you mean 'test'?"),
        ({"train": 0.9, "test": 0.2}, "the shares of a split must add up to 1, got 1.1"),
        ({"train": 1.2, "test": -0.2}, "the share of train must be a number from 0 to 1, got 1.2"),
        ({"train": "all"}, "the share of train must be a number from 0 to 1, got 'all'"),
        ({"train": True}, "the share of train must be a number from 0 to 1, got True"),
        ({"train": float("nan")}, "the share of train must be a number from 0 to 1, got nan"),
        ({"test": 1.0}, "a split needs a share for train, got none"),
        (
            {"train": 0.95, "test": 0.05},
            (
                "a share of 0.05 for test leaves none of class 3's 5 samples there; give it a larger one, or "
                "leave test out"
            ),
        ),
    ],
)
def test_what_is_no_split_is_one_sentence(shares: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        split(LABELS, shares)
    assert str(caught.value) == message


def test_pieces_of_a_text_stay_in_order() -> None:
    found = split_in_order(100, {"train": 0.8, "validation": 0.05, "test": 0.15})
    assert found.train.tolist() == list(range(80))
    assert found.validation.tolist() == list(range(80, 85))
    assert found.test.tolist() == list(range(85, 100))
    with pytest.raises(UsageError, match=r"a share of 0\.01 for test leaves none of 40 samples there"):
        split_in_order(40, {"train": 0.99, "test": 0.01})


def test_a_part_without_samples_cannot_be_taken() -> None:
    found = split(LABELS)
    assert found.part("test") is found.test
    with pytest.raises(UsageError, match="without samples for validation"):
        found.part("validation")
    with pytest.raises(UsageError, match="unknown part of a data set 'tests'; did you mean 'test'"):
        found.part("tests")


def test_a_published_test_set_is_the_test_part() -> None:
    labels = np.concatenate([LABELS, LABELS[::7]])
    found = split_before_test(labels, len(LABELS), {"train": 0.6, "validation": 0.2, "test": 0.2}, seed=2)
    assert found.test.tolist() == list(range(len(LABELS), len(labels)))
    rest = split(LABELS, {"train": 0.75, "validation": 0.25}, seed=2)
    assert found.digests["train"] == rest.digests["train"]
    assert found.digests["validation"] == rest.digests["validation"]
    with pytest.raises(UsageError, match="leaves none of class 3"):
        split_before_test(labels, len(LABELS), {"train": 0.95, "validation": 0.05}, seed=2)
