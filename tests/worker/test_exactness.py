"""How exact and repeatable an operator is: planted errors are measured, and variation is found."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from benchmarker.worker.verification.error_norms import MAP_SIZE, difference_map, error_norms
from benchmarker.worker.verification.repeatability import Variation
from benchmarker.worker.verification.samples import MAX_COMPARED, tensor_sample
from tests.conftest import Command

pytestmark = pytest.mark.framework("numpy")

Array = np.ndarray


def test_norms_are_those_of_a_planted_error() -> None:
    expected = np.array([[3.0, -4.0], [0.0, 0.0]])
    found = expected + np.array([[0.1, 0.0], [0.0, -0.2]])
    norms = error_norms("y", found, tensor_sample("y", expected))
    assert norms["compared"] == 4
    assert norms["l1_absolute"] == pytest.approx(0.3)
    assert norms["l1_relative"] == pytest.approx(0.3 / 7)
    assert norms["l2_absolute"] == pytest.approx(math.hypot(0.1, 0.2))
    assert norms["l2_relative"] == pytest.approx(math.hypot(0.1, 0.2) / 5)
    assert norms["max_absolute"] == pytest.approx(0.2)
    assert norms["max_relative"] == pytest.approx(0.05)
    assert norms["worst"] == {"index": [1, 1], "expected": 0.0, "found": pytest.approx(-0.2)}


def test_the_same_tensor_has_no_errors() -> None:
    expected = np.arange(6.0).reshape(2, 3)
    norms = error_norms("y", expected, tensor_sample("y", expected))
    assert {norms[name] for name in norms if name.startswith(("l1", "l2", "max"))} == {0.0}


def test_of_zeros_nothing_is_relative() -> None:
    norms = error_norms("y", np.full(3, 0.5), tensor_sample("y", np.zeros(3)))
    assert norms["l2_relative"] is None
    assert norms["max_absolute"] == 0.5


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_what_is_not_finite_is_the_worst_and_null(broken: float) -> None:
    expected = np.arange(6.0)
    found = expected.copy()
    found[4] = broken
    norms = error_norms("y", found, tensor_sample("y", expected))
    assert norms["l2_absolute"] is None
    assert norms["worst"] == {"index": [4], "expected": 4.0, "found": None}
    json.dumps(norms, allow_nan=False)


def test_of_a_large_tensor_some_elements_are_compared_and_their_places_are_told() -> None:
    expected = np.random.default_rng(0).normal(size=(400, 500))
    found = expected * (1 + 1e-6 * np.arange(200_000).reshape(expected.shape))
    norms = error_norms("y", found, tensor_sample("y", expected))
    row, column = norms["worst"]["index"]
    assert norms["compared"] == MAX_COMPARED
    assert norms["worst"]["expected"] == expected[row, column]
    assert norms["worst"]["found"] == found[row, column]


def test_the_map_shows_where_an_error_lies() -> None:
    expected = np.ones((2, 32, 128))
    found = expected.copy()
    found[1, 31, 127] += 0.25  # the last row of 64 and the last column
    found[0, 2, 3] -= 0.5  # the third row, so the second cell of two rows each
    shown = difference_map("y", found, tensor_sample("y", expected))
    cells = np.array(shown["cells"])
    assert (shown["rows"], shown["columns"]) == (64, 128)
    assert cells.shape == (MAP_SIZE, MAP_SIZE)
    assert cells[31, 31] == 0.25
    assert cells[1, 0] == 0.5
    assert np.count_nonzero(cells) == 2


def test_a_small_map_has_a_cell_for_each_element() -> None:
    found = np.array([[1.0, 2.0, math.nan], [4.0, 5.0, 6.5]])
    shown = difference_map("y", found, tensor_sample("y", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 5.0]])))
    assert shown == {"rows": 2, "columns": 3, "cells": [[0.0, 0.0, None], [0.0, 0.0, 0.3]]}


def test_equal_reruns_are_bitwise_equal() -> None:
    first = np.array([0.0, math.nan, 1.5], np.float32)
    variation = Variation(first)
    variation.note(first.copy())
    assert variation.to_json() == {"bitwise_equal": True, "varying_share": 0.0, "largest_variance": 0.0}


def test_variation_is_that_over_all_runs() -> None:
    runs = [np.array([1.0, 2.0, 3.0, 4.0]) for _ in range(4)]
    runs[1][2], runs[3][2], runs[2][0] = 3.5, 2.0, 1.25
    variation = Variation(runs[0])
    for run in runs[1:]:
        variation.note(run)
    found = variation.to_json()
    assert found["bitwise_equal"] is False
    assert found["varying_share"] == 0.5
    assert found["largest_variance"] == pytest.approx(np.var([3.0, 3.5, 3.0, 2.0], ddof=1))


def test_a_changed_sign_of_zero_is_not_the_same_bits() -> None:
    variation = Variation(np.array([0.0], np.float32))
    variation.note(np.array([-0.0], np.float32))
    found = variation.to_json()
    assert (found["bitwise_equal"], found["varying_share"], found["largest_variance"]) == (False, 1.0, 0.0)


def test_another_shape_is_no_rerun() -> None:
    with pytest.raises(RuntimeError, match=r"returned float64 \(2,\) after float64 \(3,\)"):
        Variation(np.zeros(3)).note(np.zeros(2))


SMALL = ("--set=m=20", "--set=n=30", "--set=k=40", "--steps=2", "--warmup=0", "--monitors=none", "--json")


def records(command: Command, *arguments: str) -> list[dict[str, Any]]:
    finished = command(*arguments, *SMALL)
    assert finished.status == 0, finished.stderr
    return [json.loads(line) for line in finished.stdout.splitlines()]


def test_a_run_of_an_operator_tells_its_errors_in_both_directions(command: Command) -> None:
    forward, backward = records(command, "--level=operator", "--problem=deepbench_gemm", "--framework=numpy")
    assert [tensor["name"] for tensor in forward["operator"]["tensors"]] == ["gemm"]
    kinds = {tensor["name"]: tensor["kind"] for tensor in backward["operator"]["tensors"]}
    assert kinds == {"gemm": "output", "a": "gradient", "b": "gradient"}
    for record in (forward, backward):
        operator = record["operator"]
        assert operator["bitwise_equal"] is True
        assert operator["reruns"] == 5
        assert 0 < operator["l2_relative"] < 1e-6  # float32, against float64
        worst = max(tensor["errors"]["l2_relative"] for tensor in operator["tensors"])
        assert operator["l2_relative"] == worst
        cells = operator["tensors"][0]["difference_map"]["cells"]
        assert (len(cells), len(cells[0])) == (20, 30)
    assert backward["operator"]["tensors"][1]["difference_map"] is None
    products = 2 * 20 * 30 * 40
    moved = 4 * (20 * 40 + 40 * 30 + 20 * 30)
    assert forward["metrics"]["arithmetic_intensity"] == pytest.approx(products / moved)


def test_without_verification_there_is_repeatability_alone(command: Command) -> None:
    (record,) = records(
        *(command, "--problem=deepbench_gemm", "--framework=numpy", "--mode=inference", "--no-verify")
    )
    operator = record["operator"]
    assert (operator["reference"], operator["l2_relative"]) == (None, None)
    assert operator["bitwise_equal"] is True
    assert operator["tensors"][0]["errors"] is None


def test_a_network_and_training_have_no_such_member(command: Command) -> None:
    (training,) = records(command, "--problem=gemm", "--framework=numpy")
    finished = command(
        *("--problem=mnist_mlp", "--framework=numpy", "--mode=inference", "--steps=2", "--warmup=0", "--json")
    )
    assert training["operator"] is None
    assert json.loads(finished.stdout)["operator"] is None
