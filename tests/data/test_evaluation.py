"""Evaluation: every sample once, whole numbers, one division; a partial mini-batch that is averaged wrongly is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarker.data.augmentation import Augmentation, Augmenter
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.evaluation import Evaluation, EvaluationBatches, evaluate_scores
from benchmarker.data.stored import StoredData

CLASSES = 4
GENERATOR = np.random.default_rng(4)
SAMPLES = GENERATOR.standard_normal((50, 6)).astype(np.float32)
LABELS = GENERATOR.integers(0, CLASSES, 50)
WEIGHTS = GENERATOR.standard_normal((6, CLASSES))
DATA = StoredData(SAMPLES, LABELS, CLASSES)
INPUTS = BatchInputs("any", "x", (2, 3), label="label")


def batches(count: int, size: int, inputs: BatchInputs = INPUTS) -> EvaluationBatches:
    augmenter = Augmenter(Augmentation.parse(["normalize"]), DATA, np.arange(50))
    return EvaluationBatches(augmenter, np.arange(count), inputs, size)


def scores_of(batch: Any) -> Any:
    return batch.arrays["x"].reshape(-1, 6) @ WEIGHTS


def evaluated(found: EvaluationBatches) -> Evaluation:
    return sum((evaluate_scores(scores_of(b), b.labels, b.mask) for b in found), Evaluation())


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 50), st.integers(1, 60))
def test_every_sample_counts_once_whatever_the_mini_batch(count: int, size: int) -> None:
    found = list(batches(count, size))
    assert {batch.arrays["x"].shape for batch in found} == {(size, 2, 3)}
    assert sum(batch.count for batch in found) == count
    assert np.array_equal(np.concatenate([b.labels[b.mask] for b in found]), LABELS[:count])
    whole, parts = evaluated(batches(count, count)), evaluated(batches(count, size))
    assert (parts.correct, parts.total) == (whole.correct, whole.total)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-12)


def test_numbers_are_those_of_the_definition() -> None:
    found = evaluated(batches(50, 16))
    scores = np.concatenate([scores_of(b)[b.mask] for b in batches(50, 16)])
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found.correct == sum(int(np.argmax(row)) == label for row, label in zip(scores, LABELS))
    assert found.accuracy == found.correct / 50
    assert found.loss == pytest.approx(-np.log(shares[np.arange(50), LABELS]).mean(), rel=1e-12)


def test_a_partial_mini_batch_that_is_averaged_wrongly_is_seen() -> None:
    right = evaluated(batches(50, 16)).loss
    each = [evaluate_scores(scores_of(b), b.labels, b.mask) for b in batches(50, 16)]
    mean_of_means = float(np.mean([e.loss for e in each]))
    filled = [evaluate_scores(scores_of(b), b.labels, np.ones(16, bool)) for b in batches(50, 16)]
    with_filling = sum(filled, Evaluation())
    assert with_filling.total == 64
    assert abs(mean_of_means / right - 1) > 1e-3
    assert abs(with_filling.loss / right - 1) > 1e-3


def test_what_fills_the_last_mini_batch_are_samples_of_it() -> None:
    last = batches(19, 8)[2]
    assert last.mask.tolist() == [True] * 3 + [False] * 5
    assert np.array_equal(last.arrays["x"][3:6], last.arrays["x"][:3])
    assert last.arrays["label"].dtype == np.int64
    with pytest.raises(IndexError):
        batches(19, 8)[3]


def test_the_first_of_equal_scores_is_the_prediction() -> None:
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]], np.float16)
    everything = np.array([True, True])
    assert evaluate_scores(scores, np.array([0, 1]), everything).correct == 2
    assert evaluate_scores(scores, np.array([1, 2]), everything).correct == 0


def test_scores_that_are_no_numbers_predict_nothing() -> None:
    scores = np.array([[np.nan, 0.0], [0.0, 1.0]])
    found = evaluate_scores(scores, np.array([0, 1]), np.array([True, True]))
    assert (found.correct, found.total) == (1, 2)
    assert np.isnan(found.loss)


def test_a_label_for_every_place_counts_by_places() -> None:
    scores = GENERATOR.standard_normal((3, CLASSES, 5))
    labels = GENERATOR.integers(0, CLASSES, (3, 5))
    found = evaluate_scores(scores, labels, np.array([True, False, True]))
    assert found.total == 10
    assert found.correct == int((scores[[0, 2]].argmax(axis=1) == labels[[0, 2]]).sum())


def test_weights_of_classes_are_one_hot_in_evaluation() -> None:
    inputs = BatchInputs("any", "x", (6,), label="label", takes_weights=True)
    batch = batches(10, 4, inputs)[0]
    assert np.array_equal(batch.arrays["label"], np.eye(CLASSES, dtype=np.float32)[LABELS[:4]])
    assert batch.labels.tolist() == LABELS[:4].tolist()
