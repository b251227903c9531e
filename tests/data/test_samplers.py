"""Samplers: what an epoch gives and in which order, the same for ever; an order that is not shuffled is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarker.data import values
from benchmarker.data.samplers import (
    Balanced,
    Bucketed,
    ClassBias,
    Ordered,
    Sampler,
    SamplerChoice,
    Sharded,
    Shuffled,
    class_bias,
    order_digest,
)
from benchmarker.data.splits import split
from benchmarker.errors import UsageError

LABELS = np.repeat(np.arange(4), (50, 10, 25, 3))
LENGTHS = np.random.default_rng(2).integers(3, 200, len(LABELS))
INDICES = np.flatnonzero(np.arange(len(LABELS)) % 5 != 0)

SAMPLERS: dict[str, Sampler] = {
    "ordered": Ordered(INDICES),
    "shuffled": Shuffled(INDICES, 42),
    "balanced": Balanced(INDICES, LABELS, 42),
    "bucketed": Bucketed(INDICES, LENGTHS, 42, 8, 5),
    "sharded": Sharded(Shuffled(INDICES, 42), 8, 1, 4),
}
PINNED = {
    "ordered": "3799291ad4a9e442876deefe7d9cb49b2f11a23b1512898854beb78101207699",
    "shuffled": "23cd67e38a1df83f4850290cf1cb2e9c0a1d665e08ef0ff63c5aa1b63f771aa5",
    "balanced": "504f4f5e5c0e3d777dde1a63e5cd00b6d91912ca5e0852dfba577baa28a32fb4",
    "bucketed": "ed3f223fcdfcbd02180594971bc8375914967c94de858c061e9462b50da32423",
    "sharded": "274131c38693c519581e473aaf009672795f7a903844b93af254f96b2df8e572",
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_order_never_changes(name: str) -> None:
    assert SAMPLERS[name].order(3).dtype == np.int64
    assert order_digest(SAMPLERS[name], 3) == f"sha256:{PINNED[name]}"


def test_an_unsplit_data_set_is_shuffled_as_in_runs() -> None:
    found = Shuffled(np.arange(100), 7).order(2)
    assert np.array_equal(found, values.draw_order(7, "epoch/2", 100))


@pytest.mark.parametrize("name", ["ordered", "shuffled", "bucketed"])
def test_every_sample_comes_once(name: str) -> None:
    assert np.array_equal(np.sort(SAMPLERS[name].order(0)), INDICES)


@pytest.mark.parametrize("name", ["shuffled", "balanced", "bucketed"])
def test_epochs_and_seeds_have_orders_of_their_own(name: str) -> None:
    sampler: Any = SAMPLERS[name]
    other = replace(sampler, seed=43)
    assert len({order_digest(s, epoch) for s in (sampler, other) for epoch in range(3)}) == 6


def is_shuffled(order: Any) -> bool:
    """Tell whether an order could be one by chance: its ranks hardly follow its positions."""
    ranks = np.argsort(np.argsort(order, kind="stable"), kind="stable")
    correlation = np.corrcoef(ranks, np.arange(len(order)))[0, 1]
    return bool(abs(correlation) < 5 / np.sqrt(len(order)))


def test_an_order_that_is_not_shuffled_is_seen() -> None:
    indices = np.arange(500)
    assert all(is_shuffled(Shuffled(indices, seed).order(epoch)) for seed in range(5) for epoch in range(5))
    assert not is_shuffled(Ordered(indices).order(0))
    # A buffer of a tenth of the data set, as of tf.data, is not enough.
    keys = indices + np.random.default_rng(1).integers(0, 50, 500)
    assert not is_shuffled(np.argsort(keys, kind="stable"))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 9))
def test_balanced_epochs_have_every_class_equally_often(sizes: list[int], epoch: int) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    order = Balanced(np.arange(len(labels)), labels, 1).order(epoch)
    counts = np.bincount(labels[order], minlength=len(sizes))
    assert len(order) == len(labels)
    assert counts.max() - counts.min() <= 1
    # A sample comes again only after all of its class have come.
    for label, size in enumerate(sizes):
        times = np.bincount(order[labels[order] == label], minlength=len(labels))[labels == label]
        assert len(times) == size
        assert times.max() - times.min() <= 1


def test_what_does_not_divide_goes_to_other_classes_each_epoch() -> None:
    labels = np.repeat(np.arange(4), 20)[:78]
    found = [np.bincount(labels[Balanced(np.arange(78), labels, 1).order(e)]) for e in range(12)]
    assert len({tuple(counts.tolist()) for counts in found}) > 2


def test_mini_batches_have_samples_of_similar_length() -> None:
    lengths = np.random.default_rng(3).integers(1, 250, 2000)
    indices = np.arange(2000)
    bucketed, shuffled = Bucketed(indices, lengths, 1, 32), Shuffled(indices, 1)

    def spread(sampler: Sampler) -> float:
        batches = lengths[sampler.order(0)][: 2000 // 32 * 32].reshape(-1, 32)
        return float((batches.max(axis=1) - batches.min(axis=1)).mean())

    assert spread(bucketed) < spread(shuffled) / 8
    assert is_shuffled(lengths[bucketed.order(0)].reshape(-1)[::32])
    # Samples of one length too are taken in another order by each epoch.
    same = Bucketed(indices, np.full(2000, 7), 1, 32)
    assert is_shuffled(same.order(0))
    assert not np.array_equal(same.order(0), same.order(1))


def test_the_partial_mini_batch_stays_last() -> None:
    lengths = np.arange(21)
    order = Bucketed(np.arange(21), lengths, 5, 4, 21).order(0)
    assert order[-1] == 20
    assert all(np.ptp(order[i : i + 4]) == 3 for i in range(0, 20, 4))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 60))
def test_ranks_together_take_the_mini_batches_of_one_process(ranks: int, rows: int, count: int) -> None:
    size = ranks * rows
    whole = Shuffled(np.arange(count), 9)
    shards = [Sharded(whole, size, rank, ranks).order(1) for rank in range(ranks)]
    order = whole.order(1)
    for start in range(0, count // size * size, size):
        first = start // ranks
        together = np.concatenate([shard[first : first + rows] for shard in shards])
        assert np.array_equal(together, order[start : start + size])
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(count))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_a_mini_batch_that_ranks_cannot_share_is_refused() -> None:
    with pytest.raises(UsageError, match=r"must be a multiple of the 3 ranks, .* got 32"):
        Sharded(Ordered(INDICES), 32, 0, 3)
    with pytest.raises(UsageError, match="a rank must be from 0 to 1, got 2"):
        Sharded(Ordered(INDICES), 32, 2, 2)


# --- bias ------------------------------------------------------------------------------------------


def test_the_bias_of_a_sampler_is_what_it_gave() -> None:
    every = LABELS[INDICES]
    assert class_bias(LABELS[SAMPLERS["shuffled"].order(0)], every, 4).total_variation == 0.0
    balanced = class_bias(LABELS[SAMPLERS["balanced"].order(0)], every, 4)
    assert balanced.available == tuple(np.bincount(every).tolist())
    assert max(balanced.given) - min(balanced.given) <= 1
    shares = [np.array(counts) / sum(counts) for counts in (balanced.given, balanced.available)]
    assert balanced.total_variation == pytest.approx(0.5 * np.abs(shares[0] - shares[1]).sum())


def test_mini_batches_of_an_unshuffled_order_are_biased() -> None:
    labels = np.repeat(np.arange(10), 40)
    indices = np.arange(400)
    found = [
        class_bias(labels[sampler.order(0)[:80]], labels, 10).total_variation
        for sampler in (Ordered(indices), Shuffled(indices, 1))
    ]
    assert found[0] == pytest.approx(0.8)
    assert found[1] < 0.3


def test_total_variation_is_at_most_one_and_exact() -> None:
    assert ClassBias((5, 0), (0, 9)).total_variation == 1.0
    assert ClassBias((1, 1, 1), (7, 7, 7)).total_variation == 0.0
    assert ClassBias((0, 0), (3, 4)).total_variation == 0.0


# --- by name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("ordered", SAMPLERS["ordered"]),
        ({"name": "shuffled"}, SAMPLERS["shuffled"]),
        ("balanced", SAMPLERS["balanced"]),
        ({"name": "bucketed", "buckets": 5}, SAMPLERS["bucketed"]),
    ],
)
def test_a_sampler_is_chosen_by_name(choice: Any, expected: Sampler) -> None:
    made = SamplerChoice.parse(choice).make(INDICES, LABELS, 42, 8, LENGTHS)
    assert np.array_equal(made.order(1), expected.order(1))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("shufled", "unknown sampler 'shufled'; did you mean 'shuffled'?"),
        (
            {"name": "bucketed", "bucket": 3},
            "sampler 'bucketed' has no parameter 'bucket'; did you mean 'buckets'?",
        ),
        (
            {"name": "bucketed", "buckets": 0},
            "sampler 'bucketed': 'buckets' must be a whole number from 1 to ",
        ),
        (
            {"buckets": 3},
            "a sampler must be a name, or a table with 'name' and its options, got {'buckets': 3}",
        ),
        (7, "a sampler must be a name, or a table with 'name' and its options, got 7"),
    ],
)
def test_a_wrong_choice_is_one_sentence(choice: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        SamplerChoice.parse(choice)
    assert str(caught.value).startswith(message)


def test_buckets_need_lengths() -> None:
    with pytest.raises(UsageError, match="all of this data set are equally long"):
        SamplerChoice.parse("bucketed").make(INDICES, LABELS, 1, 8)


def test_a_sampler_of_a_part_gives_nothing_of_the_others() -> None:
    parts = split(LABELS, {"train": 0.8, "test": 0.2})
    for name in ("shuffled", "balanced"):
        order = SamplerChoice.parse(name).make(parts.train, LABELS, 1, 8).order(0)
        assert not set(order.tolist()) & set(parts.test.tolist())
