"""What a number is good for follows from its interval, and from nothing else unless something excludes it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarker.records.precision import BETWEEN, excluded, precision_of, shown, usable_for
from tests.support.records import make_record


@pytest.mark.parametrize(
    ("half_width", "grade"), [(0.0, "high"), (0.019, "high"), (0.05, "medium"), (0.11, "low"), (3.0, "low")]
)
def test_the_grade_is_of_the_half_width(half_width: float, grade: str) -> None:
    found = precision_of(1.0, (1 / (1 + half_width), 1 + half_width))
    assert found.grade == grade
    assert found.half_width == pytest.approx(half_width)


def test_the_least_difference_is_that_of_two_numbers_known_as_well() -> None:
    found = precision_of(2.0, (1.9, 2.1), BETWEEN)
    wider = math.log(2.0 / 1.9)
    assert found.least_difference == pytest.approx(math.exp(math.sqrt(2) * wider) - 1)
    assert usable_for(found) == "usable for differences above 7.6 %"


def test_without_an_interval_nothing_is_promised() -> None:
    for found in (precision_of(1.0, None), precision_of(0.0, (0.0, 0.0)), None):
        assert usable_for(found) == "usable for orders of magnitude: it has no interval"
    assert precision_of(1.0, None).grade == "unknown"
    assert precision_of(1.0, (0.0, 1.0)).grade == "low"


def test_one_process_says_so() -> None:
    said = usable_for(precision_of(1.0, (0.99, 1.01)))
    assert said == "usable for differences above 1.5 % within this process; how processes differ is not known"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.00012, "0.012 %"), (0.0121, "1.3 %"), (0.12, "12 %"), (1.234, "130 %")],
)
def test_shares_are_never_below_what_they_are(share: float, text: str) -> None:
    assert shown(share) == text


@pytest.mark.parametrize(
    ("trust", "kind"),
    [
        ({}, None),
        ({"grade": "noisy"}, None),
        ({"grade": "contaminated"}, "contaminated"),
        ({"findings": [{"kind": "oversubscribed", "excludes": False}]}, None),
        ({"findings": [{"kind": "compilation", "excludes": True}]}, "compilation"),
    ],
)
def test_what_excludes_a_number_is_said(trust: dict[str, Any], kind: str | None) -> None:
    record = make_record()
    record["trust"].update(trust)
    assert excluded(record) == kind
    said = usable_for(record["trust"]["precision"], [excluded(record)])
    assert said.startswith(f"not usable for comparisons ({kind})" if kind else "usable for differences above")
