"""What steps take in turn: a pool of mini-batches that no cache can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.data import batches as module
from benchmarker.data.batches import BatchFeeder, SyntheticBatches, last_level_cache_bytes
from benchmarker.data.values import draw_batch


def feeding(cache: int, monkeypatch: pytest.MonkeyPatch, inputs: str = "resident") -> BatchFeeder:
    monkeypatch.setattr(module, "last_level_cache_bytes", lambda: cache)
    graph = registry.problem("mnist_mlp").graph(4)
    return BatchFeeder(SyntheticBatches(graph, 42), dict, inputs, random=True)


def addresses(taken: list[Mapping[str, Any]]) -> set[int]:
    return {batch["image"].__array_interface__["data"][0] for batch in taken}


def test_the_pool_is_larger_than_the_last_level_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = feeding(1 << 20, monkeypatch)
    feed.fill(10_000)
    assert feed.resident_bytes > 1 << 20
    assert feed.resident_bytes - feed.bytes_each <= 1 << 20
    taken = [feed() for _ in range(feed.resident_bytes // feed.bytes_each)]
    assert len(addresses(taken)) == len(taken)
    assert np.array_equal(taken[0]["image"], taken[8]["image"])
    assert not np.array_equal(taken[0]["image"], taken[7]["image"])
    assert feed() is taken[0]
    assert feed.distinct == 8


def test_the_pool_has_eight_mini_batches_where_one_fills_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = feeding(0, monkeypatch)
    feed.fill(10_000)
    assert len(addresses([feed() for _ in range(16)])) == feed.distinct == 8


def test_no_more_is_loaded_than_steps_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = feeding(1 << 20, monkeypatch)
    feed.fill(3)
    assert feed.resident_bytes == 3 * feed.bytes_each
    feed.fill(20)
    assert feed.resident_bytes == 20 * feed.bytes_each


def test_fed_mini_batches_come_in_turn_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = feeding(1 << 20, monkeypatch, "fed")
    feed.fill(100)
    taken = [feed() for _ in range(9)]
    assert feed.resident_bytes == 0
    assert len(addresses(taken)) == 8
    assert taken[8] is taken[0]
    loaded = []
    step = feed.step(lambda native: loaded.append(native))
    step(taken[1])
    assert np.array_equal(loaded[0]["image"], taken[1]["image"])


def test_a_large_input_is_rotated_and_a_small_one_drawn() -> None:
    graph = registry.problem("conv2d").graph(2, channels=3, height=300, width=300)
    batches = SyntheticBatches(graph, 42)
    first, second = batches.batch(0)["image"], batches.batch(1)["image"]
    assert np.array_equal(first, draw_batch(graph, 42)["image"])
    assert np.array_equal(np.sort(first, axis=None), np.sort(second, axis=None))
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.01
    labels = SyntheticBatches(registry.problem("resnet50").graph(64), 1)
    assert not np.array_equal(labels.batch(0)["label"], labels.batch(1)["label"])


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    for index, size in enumerate(["32K", "1024K", "32768K", "broken"]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n")
    assert last_level_cache_bytes(tmp_path) == 32 << 20
    assert last_level_cache_bytes(tmp_path / "none") == 64 << 20
