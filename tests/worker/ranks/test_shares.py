"""A rank's share of a mini-batch and of the weights."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarker.data.values import part_of
from benchmarker.problems import mnist_mlp
from benchmarker.worker.ranks.flat import Layout

GRAPH = mnist_mlp.benchmarker_problem().graph(4, inputs=5, hidden1=4, hidden2=3, classes=2)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_ranks_rows_are_those_of_the_mini_batch_in_their_order(size: int) -> None:
    batch = {"image": np.arange(12).reshape(6, 2), "label": np.arange(6), "word_mask": np.arange(18)}
    parts = [part_of(batch, rank, size, {}) for rank in range(size)]
    for name, array in batch.items():
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), array)
        assert {len(part[name]) for part in parts} == {len(array) // size}


def test_rows_that_do_not_go_to_all_ranks_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="6 rows of 'label' do not go into 4 equal parts"):
        part_of({"label": np.arange(6)}, 0, 4, {})


def test_a_rank_numbers_its_own_rows_or_those_of_all() -> None:
    batch = {"neighbour": np.array([[1, 0], [3, 2], [5, 4], [7, 6]])}
    own = [part_of(batch, rank, 2, {"neighbour": 2})["neighbour"].tolist() for rank in range(2)]
    assert own == [[[1, 0], [3, 2]]] * 2
    assert part_of(batch, 1, 2, {})["neighbour"].tolist() == [[5, 4], [7, 6]]


def test_parameters_are_parts_of_one_vector() -> None:
    layout = Layout(GRAPH)
    arrays = {p.name: np.random.default_rng(0).normal(size=p.type.shape) for p in GRAPH.trainable}
    vector = layout.vector(arrays, np.float64)
    assert len(vector) == layout.length == sum(array.size for array in arrays.values())
    views = layout.views(vector)
    assert list(views) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(views[name], array)
    views["fc1.bias"][...] = 7.0
    np.testing.assert_array_equal(vector[layout.slices["fc1.bias"]], 7.0)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_parts_of_ranks_hold_each_element_once(size: int) -> None:
    layout = Layout(GRAPH)
    vector = np.arange(layout.length, dtype=np.float64)
    ends = np.linspace(0, layout.length, size + 1).astype(int)
    seen: dict[str, list[np.ndarray]] = {name: [] for name in layout.slices}
    for start, stop in zip(ends, ends[1:]):
        for name, found in layout.parts(vector, slice(int(start), int(stop))).items():
            assert len(found) > 0
            seen[name].append(found)
    for name, place in layout.slices.items():
        np.testing.assert_array_equal(np.concatenate(seen[name]), vector[place])
