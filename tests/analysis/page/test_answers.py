"""Which framework is fastest at each work: comparisons only of what may be compared, verdicts only of pairs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarker.analysis.comparison.compare import compare
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.page.answer_table import Answers, answer_table
from benchmarker.analysis.page.answers import Answer, answers
from benchmarker.analysis.page.build import make_page
from tests.support.campaign_records import WOBBLE, processes
from tests.support.kept_records import GROUP, Kept
from tests.support.records import make_record

pytestmark = pytest.mark.xdist_group(GROUP)

RESNET44 = {"problem": "resnet44", "mode": "training", "execution.threads": 1}


def told(found: list[Answer]) -> Answers:
    records = [record for answer in found for record in answer.records]
    return answer_table(found, {record["id"]: (at, f"run-{at}") for at, record in enumerate(records)})


def run(framework: str, seconds: float, **more: Any) -> dict[str, Any]:
    return make_record([seconds] * 30, framework__name=framework, framework__full=f"{framework}-1", **more)


def test_kept_pairs_show_who_is_fastest_and_by_how_much(kept: Kept) -> None:
    (row,) = told(answers(kept.those(**RESNET44))).groups[0].rows
    assert [line.name for line in row.lines] == ["tensorflow", "pytorch", "mxnet", "chainer"]
    first, following = row.lines[:2]
    assert (first.verdict, following.verdict, following.tone) == ("", "slower", "good")
    assert (following.ratio, following.why) == ("1.072 ×", "10 pairs")
    assert following.interval.startswith("[1.0")
    assert row.is_shown


def test_a_verdict_is_that_of_compare_corrected_for_all_pairs(kept: Kept) -> None:
    records = kept.those(**RESNET44)
    of = {
        name: [r for r in records if r["framework"]["name"] == name]
        for name in ("tensorflow", "pytorch", "mxnet")
    }
    sides = [Side(name, own) for name, own in of.items()]
    plain, afterwards = compare(sides), compare(sides, chosen_afterwards=True)
    assert [row.ratio for row in plain.rows] == [row.ratio for row in afterwards.rows]
    for one, other in zip(plain.rows, afterwards.rows):
        assert one.verdict
        assert other.verdict
        assert other.verdict.p_adjusted >= one.verdict.p_adjusted
        assert other.verdict.p == one.verdict.p


def test_numbers_that_were_not_measured_together_have_no_verdict() -> None:
    records = [run("pytorch", 0.1), run("mxnet", 0.2, replication__campaign="of another day")]
    (row,) = told(answers(records)).groups[0].rows
    assert [(line.name, line.ratio, line.verdict) for line in row.lines] == [
        ("pytorch", "", ""),
        ("mxnet", "2.000 ×", "no verdict"),
    ]
    assert (row.lines[1].why, row.lines[1].interval, row.is_shown) == ("not measured together", "", False)


@pytest.mark.parametrize(
    "other",
    [
        {"batch_size": 8},
        {"execution__threads": 1},
        {"platform__cpu__model": "Another CPU"},
        {"precision": "fp64"},
    ],
    ids=str,
)
def test_what_is_not_the_same_work_on_the_same_machine_is_not_compared(other: dict[str, Any]) -> None:
    found = told(answers([run("pytorch", 0.1), run("mxnet", 0.2, **other)]))
    assert found.groups == ()
    assert len(found.alone) == 2


def test_a_disturbed_number_ranks_nowhere_and_is_named() -> None:
    fastest = run("mxnet", 0.001, trust__grade="contaminated")
    (row,) = told(answers([run("pytorch", 0.1), run("chainer", 0.2), fastest])).groups[0].rows
    assert [line.name for line in row.lines] == ["pytorch", "chainer"]
    assert row.left_out == "Left out, as every process of theirs was disturbed: mxnet."
    assert row.grade == "clean"


def test_networks_come_before_operators_and_two_versions_are_told_apart() -> None:
    operator = {"problem__name": "gemm", "problem__task": "operator"}
    records = [
        run("pytorch", 0.1, **operator),
        run("mxnet", 0.2, **operator),
        run("pytorch", 0.1, framework__version="2.0"),
        run("pytorch", 0.2, framework__version="3.0"),
    ]
    random.Random(1).shuffle(records)
    found = told(answers(records))
    assert [group.title for group in found.groups] == ["Networks", "Operators"]
    assert [line.name for line in found.groups[0].rows[0].lines] == ["pytorch, 2.0", "pytorch, 3.0"]


def test_a_record_twice_counts_once() -> None:
    record = run("pytorch", 0.1)
    (row,) = told(answers([record, record, run("mxnet", 0.2)])).groups[0].rows
    assert row.lines[0].why == "1 process"


def test_groups_of_the_processes_that_count_are_told_with_what_differs() -> None:
    halves = [w + 0.2 * (i % 2) for i, w in enumerate(WOBBLE)]
    found = processes(0.05, wobble=halves, framework__name="numpy")
    for place, record in enumerate(found):
        record["execution"]["process"]["cpus"] = [0] if place % 2 else [0, 1]
    records = [*processes(), *found]
    (row,) = told(answers(records)).groups[0].rows
    said = "5 of 10 processes at 50.1 ms, 5 at 60.9 ms; what differs: CPUs used 2.00 against 1.00; try --affinity"
    assert [(line.name, line.groups) for line in row.lines] == [("pytorch", ""), ("numpy", said)]
    (alone,) = told(answers(found)).alone
    assert alone.lines[0].groups == said
    page = make_page(records).html
    assert f"Two groups of numpy: {said}." in " ".join(page.split())
    assert "Two groups of pytorch" not in page
