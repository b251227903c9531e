"""Thresholds: what they judge, what they cannot, and the sentence that names value and limit."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.experiment.acceptance import LIMITS, METRICS, metric_of, sentences
from benchmarker.records.assembly.acceptance import judge
from benchmarker.records.schema import load_schema, validate
from tests.support.records import make_failed_record, make_record


def judged(record: dict[str, Any], **limits: float) -> dict[str, bool]:
    found = judge(record, limits)
    assert found is not None
    return {limit["name"]: limit["passed"] for limit in found["limits"]}


def test_a_limit_itself_is_kept() -> None:
    record = make_record()
    throughput = record["metrics"]["throughput"]
    assert judged(record, min_throughput=throughput, max_throughput=throughput) == {
        "min_throughput": True,
        "max_throughput": True,
    }
    assert judged(record, min_throughput=throughput * 1.01) == {"min_throughput": False}
    assert judged(record, max_throughput=throughput * 0.99) == {"max_throughput": False}
    assert judged(record, max_step_seconds=record["timing"]["step_seconds"]["median"])["max_step_seconds"]


def test_nothing_is_judged_without_limits() -> None:
    assert judge(make_record(), {}) is None
    assert judge(make_record(mode="inference"), {"max_loss": 1.0}) is None
    assert list(sentences(None)) == []


def test_what_is_not_known_is_not_accepted() -> None:
    verdict = judge(make_record(), {"min_accuracy": 0.5})
    assert verdict is not None
    assert verdict["status"] == "failed"
    assert list(sentences(verdict)) == ["accuracy is not known, must be at least 0.5 (min_accuracy)"]
    assert judged(make_failed_record(), min_throughput=1.0) == {"min_throughput": False}


def test_the_sentence_names_value_limit_and_threshold() -> None:
    record = make_record()
    record["metrics"]["throughput"] = 812.345678
    assert list(sentences(judge(record, {"min_throughput": 1000, "max_memory_bytes": 1e12}))) == [
        "throughput is 812.346, must be at least 1000 (min_throughput)"
    ]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_place_in_the_record(name: str) -> None:
    assert {f"min_{name}", f"max_{name}"} <= set(LIMITS)
    assert metric_of(f"min_{name}") is METRICS[name]
    schema: Any = load_schema()
    for part in METRICS[name].path.split("."):
        if part not in schema["properties"]:
            assert schema["additionalProperties"]
            return
        schema = schema["properties"][part]


def test_a_verdict_is_valid_in_a_record_and_must_be_true() -> None:
    record = make_record()
    record["acceptance"] = judge(record, {"min_throughput": 1.0, "max_step_seconds": 1e-9})
    assert validate(record) == []
    record["acceptance"]["limits"][1]["passed"] = True
    assert [fault.path for fault in validate(record)] == [
        "$.acceptance.limits[1].passed",
        "$.acceptance.status",
    ]
    record["acceptance"]["limits"][1]["passed"] = False
    record["acceptance"]["status"] = "passed"
    assert [fault.path for fault in validate(record)] == ["$.acceptance.status"]
