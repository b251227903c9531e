"""Frameworks over many operators: ratios by hand, what is missing, and how it fits a terminal."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarker.analysis.text.operators import operators_report
from benchmarker.statistics import student_t_quantile
from tests.support.records import make_failed_record, make_record

PARAMETERS = {"a_transposed": False, "b_transposed": False}


def operator(error: float = 2e-7, *, equal: bool = True) -> dict[str, Any]:
    return {
        "reference": "NumPy, float64",
        "reruns": 5,
        "l1_relative": error,
        "l2_relative": error,
        "max_relative": error,
        "bitwise_equal": equal,
        "varying_share": 0.0 if equal else 0.5,
        "tensors": [
            {
                "name": "gemm",
                "kind": "output",
                "shape": [2, 2],
                "errors": None,
                "repeatability": {"bitwise_equal": equal, "varying_share": 0.0, "largest_variance": 0.0},
                "difference_map": None,
            }
        ],
    }


def record(framework: str, m: int, seconds: float, mode: str = "inference", **changes: Any) -> dict[str, Any]:
    values = {
        "framework__name": framework,
        "framework__full": f"{framework}-1.0",
        "problem__name": "deepbench_gemm",
        "problem__parameters": {"m": m, "n": 2, "k": 2, **PARAMETERS},
        "mode": mode,
        "batch_size": 1,
        "optimizer": None,
        "operator": operator(),
    }
    return make_record([seconds] * 24, **{**values, **changes})


def line(text: str, *words: str) -> list[str]:
    """Return the one line that begins with some words, in pieces."""
    (found,) = [row.split() for row in text.splitlines() if row.split()[: len(words)] == [*words]]
    return found


def test_the_ratio_is_the_geometric_mean_over_configurations_with_its_interval() -> None:
    ratios = (0.5, 0.25, 1.0)
    records = []
    for m, ratio in zip((10, 20, 30), ratios):
        records += [record("numpy", m, 0.008), record("pytorch", m, 0.008 * ratio)]
    text = operators_report(records)
    logs = [math.log(ratio) for ratio in ratios]
    mean = sum(logs) / 3
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / 2 / 3) * student_t_quantile(0.975, 2)
    low, high = math.exp(mean - error), math.exp(mean + error)
    assert line(text, "pytorch", "inference")[2:] == [
        "3",
        "0.500",
        f"[{low:.3f},",
        f"{high:.3f}]",
        "2.0e-07",
        "yes",
    ]
    assert line(text, "numpy", "inference")[2:] == ["3", "1.000", "-", "2.0e-07", "yes"]


def test_every_configuration_has_a_row_for_each_mode_with_all_frameworks() -> None:
    records = [
        record(framework, m, seconds, mode)
        for mode in ("inference", "gradient")
        for m, seconds in ((10, 0.002), (20, 0.004))
        for framework in ("numpy", "pytorch")
    ]
    text = operators_report(records)
    assert text.count("m=10") == text.count("m=20") == 2
    inference, gradient = text.index("inference: median step [ms]"), text.index("gradient: median step [ms]")
    assert inference < gradient
    rows = [row.split() for row in text.splitlines() if row.startswith("m=20")]
    assert rows == [["m=20", "n=2", "k=2", "4.000", "4.000"]] * 2


def test_what_a_framework_cannot_do_is_told_once_and_is_no_ratio() -> None:
    failed = []
    for m in (10, 20):
        good = record("mxnet", m, 0.001)
        problem, asked = good["problem"], good["specification"]
        bad = make_failed_record("failed", framework__name="mxnet", mode="inference", problem=problem)
        bad["specification"] = asked
        bad["error"]["message"] = "framework 'mxnet' has no sparse_matmul (nodes gemm)"
        failed.append(bad)
    text = operators_report([record("numpy", 10, 0.002), record("numpy", 20, 0.002), *failed])
    assert line(text, "mxnet", "inference")[2:] == ["0", "-", "-", "-", "-"]
    assert text.count("has no sparse_matmul") == 1
    assert "(2 runs)" in " ".join(text.split())


def test_runs_on_other_values_are_no_pairs() -> None:
    others = {"digests__parameters": "sha256:" + "0" * 64, "digests__batch": "sha256:" + "1" * 64}
    records = [record("numpy", 10, 0.002), record("pytorch", 10, 0.001, **others)]
    assert line(operators_report(records), "pytorch", "inference")[2:4] == ["1", "-"]


def test_the_largest_error_and_any_variation_count() -> None:
    records = [
        record("numpy", 10, 0.002),
        record("numpy", 20, 0.002, operator=operator(3e-5, equal=False)),
    ]
    assert line(operators_report(records), "numpy", "inference")[-2:] == ["3.0e-05", "no"]


@pytest.mark.parametrize("count", [2, 7])
def test_it_fits_a_terminal(count: int) -> None:
    names = ["numpy", "pytorch", "tensorflow", "onnxruntime", "chainer", "jax", "mxnet"][:count]
    records = [record(name, 8448, 0.0123, m) for m in ("inference", "gradient") for name in names]
    records += [record(name, 5124, 1.2345, m) for m in ("inference", "gradient") for name in names]
    text = operators_report(records, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(name) >= 4 for name in names)


def test_each_precision_is_summed_up_by_itself() -> None:
    records = [
        record(framework, m, seconds, precision=precision, operator=operator(error))
        for precision, error, ratio in (("fp32", 2e-7, 0.5), ("bf16", 3e-3, 40.0))
        for m in (16, 32)
        for framework, seconds in (("numpy", 1e-3 * m), ("pytorch", 1e-3 * m * ratio))
    ]
    text = operators_report(records, width=100)
    assert line(text, "pytorch", "inference,", "fp32")[3:5] == ["2", "0.500"]
    assert line(text, "pytorch", "inference,", "bf16")[3:5] == ["2", "40.000"]
    assert "2.0e-07" in line(text, "pytorch", "inference,", "fp32")
    assert "3.0e-03" in line(text, "pytorch", "inference,", "bf16")
