"""Schedules as tables: values by step index, as the field's own libraries compute them, and what is refused."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import numpy as np
import pytest

from benchmarker.errors import UsageError
from benchmarker.training.fields import made, to_json
from benchmarker.training.schedules import Schedule, table, table_digest


def rates(steps: int, base: float = 1.0, steps_per_epoch: int = 5, **fields: Any) -> list[float]:
    schedule = made(Schedule, fields, "the schedule")
    found = table(schedule, base, steps, steps_per_epoch, "learning rate")
    assert found.dtype == np.float64
    rates: list[float] = found.tolist()
    return rates


def test_a_constant_stays() -> None:
    assert rates(4, 0.05) == [0.05] * 4


def test_cosine_is_what_pytorch_keras_and_optax_compute() -> None:
    found = rates(10, kind="cosine")
    assert found[:3] == pytest.approx([1.0, 0.97552826, 0.90450850], abs=1e-8)
    assert found[9] == pytest.approx(0.02447174, abs=1e-8)
    assert rates(11, kind="cosine", length=11)[:10] != found
    assert rates(10, kind="cosine", end=0.1)[9] == pytest.approx(0.1 + 0.9 * 0.02447174, abs=1e-8)


def test_warm_up_from_a_tenth_is_what_pytorch_computes() -> None:
    found = rates(14, kind="cosine", warmup=4, warmup_from=0.1)
    assert found[:5] == pytest.approx([0.1, 0.325, 0.55, 0.775, 1.0])
    assert found[5] == pytest.approx(0.97552826, abs=1e-8)


def test_warm_up_from_zero_must_be_said_and_is_what_keras_computes() -> None:
    found = rates(14, kind="cosine", warmup=4, warmup_from=0.0)
    assert found[:6] == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0, 0.97552826], abs=1e-8)
    unsaid = rates(14, kind="cosine", warmup=4)
    assert unsaid[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert min(unsaid[:5]) > 0.0


def test_one_cycle_is_what_pytorch_computes() -> None:
    found = rates(12, kind="one_cycle")
    assert found[:5] == pytest.approx([0.04, 0.3498, 0.8793, 0.9944, 0.9330], abs=5e-5)
    assert found[10] == pytest.approx(0.0346, abs=5e-5)
    assert found[11] == pytest.approx(4e-6)


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_cycle_that_is_too_short_to_rise_only_falls(steps: int) -> None:
    found = rates(steps, kind="one_cycle")
    assert all(math.isfinite(value) for value in found)
    assert found[-1] == pytest.approx(4e-6)


def test_steps_multiply_at_their_index() -> None:
    assert rates(6, 0.8, kind="step", at=[2, 4], factor=0.5) == [0.8, 0.8, 0.4, 0.4, 0.2, 0.2]
    assert rates(11, kind="step", at=[1, 2], unit="epochs", factor=0.5) == [1.0] * 5 + [0.5] * 5 + [0.25]


def test_exponential_decays_smoothly_or_in_stairs() -> None:
    assert rates(5, kind="exponential", factor=0.25, every=2) == pytest.approx([1, 0.5, 0.25, 0.125, 0.0625])
    stairs = rates(5, kind="exponential", factor=0.25, every=2, staircase=True)
    assert stairs == [1.0, 1.0, 0.25, 0.25, 0.0625]
    epochs = rates(11, kind="exponential", factor=0.5, every=1, unit="epochs", staircase=True)
    assert epochs == [1.0] * 5 + [0.5] * 5 + [0.25]


def test_a_polynomial_falls_to_its_end() -> None:
    assert rates(4, kind="polynomial") == [1.0, 0.75, 0.5, 0.25]
    assert rates(4, 2.0, kind="polynomial", power=2.0, end=0.5)[2] == pytest.approx(2 * (0.5 + 0.5 * 0.25))


def test_a_table_is_as_it_is_given() -> None:
    assert rates(3, 7.0, kind="table", values=[0.3, 0.2, 0.1, 0.0]) == [0.3, 0.2, 0.1]


def test_the_warm_up_is_counted_in_the_unit() -> None:
    assert rates(12, kind="constant", warmup=1, unit="epochs")[:6] == pytest.approx(
        [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1.0]
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"kind": "cosine", "length": 5},
            "the schedule of the learning rate ends after 5 steps, but the training",
        ),
        ({"kind": "cosine", "length": 5, "warmup": 2}, "ends after 7 steps"),
        ({"kind": "table", "values": [0.1]}, "ends after 1 step, but the training may take 8"),
        ({"kind": "step", "at": [3, 8]}, "changes at step 8, beyond the 8 that the training may take"),
        ({"warmup": 8}, "the warm-up of the learning rate takes 8 steps, but the training at most 8"),
    ],
)
def test_what_does_not_fit_the_training_is_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        rates(8, **fields)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kind": "cosin"}, "did you mean 'cosine'?"),
        ({"kind": "cosine", "powr": 2}, "is not known; did you mean 'power'?"),
        (
            {"kind": "cosine", "power": 2.0},
            "does not belong to a schedule of kind 'cosine', but of kind polynomial",
        ),
        ({"kind": "step"}, "of kind 'step' needs 'at'"),
        ({"kind": "table", "values": []}, "must be a list of numbers"),
        ({"kind": "constant", "warmup": -1}, "must be a number of at least 0"),
        ({"kind": "table", "values": [1.0], "warmup": 2}, "does not belong to a table"),
    ],
)
def test_a_wrong_declaration_is_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(Schedule, fields, "the schedule")
    assert sentence in str(refused.value)


def test_digests_tell_tables_apart_and_are_stable() -> None:
    first = table(Schedule("cosine"), 0.1, 10, 5, "learning rate")
    assert table_digest(first) == table_digest(first.copy())
    assert table_digest(first) != table_digest(np.nextafter(first, 1.0))
    digest = hashlib.sha256(struct.pack("<2d", 1.0, 0.5)).hexdigest()
    assert table_digest(np.array([1.0, 0.5])) == f"sha256:{digest}"


def test_json_goes_there_and_back() -> None:
    schedule = made(Schedule, {"kind": "one_cycle", "rise": 0.4, "warmup": 2}, "the schedule")
    assert to_json(schedule) == {
        "kind": "one_cycle",
        "unit": "steps",
        "warmup": 2.0,
        "rise": 0.4,
    }
    assert made(Schedule, to_json(schedule), "the schedule") == schedule
