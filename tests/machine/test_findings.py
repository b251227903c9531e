"""What a run does to its own number is told with what to change, and is no disturbance."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.machine import findings as module
from benchmarker.machine.findings import LIMITS, findings, trust_since_1_5
from benchmarker.machine.trust import graded
from tests.machine.test_trust import QUIET

TIMING = {
    "threads": 1,
    "sample_seconds": 1e-3,
    "overhead_seconds": 2e-7,
    "compilations": 0,
    "steady_state": "flat",
}
WAITING = {"run_delay_seconds": 1.5, "run_delay_share": 0.2, "own_cpu_seconds": 6.0, "threads_runnable": 2.5}
CASES = [
    ("threads", {"threads_busy": 1.98}, True, "1 thread was asked for, 1.98 were busy"),
    ("timer", {"timing": {"overhead_seconds": 2e-6}}, False, "take 0.2 % of each timed sample"),
    ("timer", {"timing": {"sample_seconds": 1e-7}}, True, "take 200.0 %"),
    ("compilation", {"timing": {"compilations": 1}}, True, "compiled once among the timed steps"),
    ("slowdown", {"timing": {"steady_state": "slowdown"}}, False, "became slower"),
    ("no_steady_state", {"timing": {"steady_state": "no_steady_state"}}, False, "did not settle"),
    (
        "oversubscribed",
        WAITING,
        False,
        "its threads spent 20.0 % of the time waiting for a core that another of them used (on average, 2.5 wanted",
    ),
]


def found_in(changes: dict[str, Any]) -> list[dict[str, Any]]:
    timing = {**TIMING, **changes.get("timing", {})}
    return findings({**QUIET, **{k: v for k, v in changes.items() if k != "timing"}}, timing)


def test_a_quiet_run_has_none() -> None:
    assert found_in({}) == []


@pytest.mark.parametrize(("kind", "changes", "excludes", "text"), CASES)
def test_each_is_told_with_what_to_change(
    kind: str, changes: dict[str, Any], excludes: bool, text: str
) -> None:
    (finding,) = found_in(changes)
    assert (finding["kind"], finding["excludes"]) == (kind, excludes)
    assert text in finding["text"]
    assert finding["advice"]
    if kind in LIMITS:
        assert finding["limit"] == LIMITS[kind].reported < finding["value"]


@pytest.mark.parametrize(
    "changes",
    [
        {"threads_busy": 1.1},
        {"seconds": 0.05, "threads_busy": 1.8},
        {"timing": {"overhead_seconds": 1e-6}},
        {"timing": {"steady_state": None, "compilations": None, "sample_seconds": None}},
        {**WAITING, "foreign_cores": 0.5},
        {**WAITING, "own_cpu_seconds": 1.4},
    ],
)
def test_what_is_not_above_its_limit_or_from_outside_is_none(changes: dict[str, Any]) -> None:
    assert found_in(changes) == []


def test_what_excludes_comes_first() -> None:
    found = found_in({**WAITING, "timing": {"compilations": 1}})
    assert [finding["kind"] for finding in found] == ["compilation", "oversubscribed"]


def reason(kind: str, severity: str) -> dict[str, Any]:
    return {"kind": kind, "severity": severity, "text": kind, "value": None, "limit": None}


def test_the_one_grade_of_older_records_becomes_two() -> None:
    trust = {
        "grade": "contaminated",
        "reasons": [
            reason("run_delay", "contaminated"),
            reason("compilation", "contaminated"),
            reason("no_steady_state", "contaminated"),
            reason("thermal", "noisy"),
        ],
    }
    reasons, found = trust_since_1_5(trust, {**QUIET, **WAITING})
    assert [one["kind"] for one in reasons] == ["thermal"]
    assert [one["kind"] for one in found if one["excludes"]] == ["compilation"]
    assert {one["kind"] for one in found} == {"compilation", "no_steady_state", "oversubscribed"}
    assert graded(reasons)["grade"] == "noisy"


def test_what_an_imported_record_is_wrong_about_stays_what_excludes_it() -> None:
    trust = {"reasons": [reason("one_number", "noisy"), reason("asynchronous", "contaminated")]}
    reasons, found = trust_since_1_5(trust, None)
    assert reasons == []
    assert [(one["kind"], one["excludes"]) for one in found] == [
        ("asynchronous", True),
        ("one_number", False),
    ]


def test_every_kind_is_in_the_table_of_the_module() -> None:
    rows = {line.split("  ")[0] for line in (module.__doc__ or "").splitlines()}
    assert set(LIMITS) | {case[0] for case in CASES} <= rows
