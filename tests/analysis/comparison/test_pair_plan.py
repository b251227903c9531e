"""What is run to make the pairs of a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.analysis.comparison import Side
from benchmarker.analysis.comparison.pair_plan import Amount, pairs_to_make, processes_to_make
from benchmarker.errors import UsageError
from benchmarker.experiment.campaign import Campaign
from tests.support.campaign_records import process


def measured(day: int = 1, **changes: Any) -> dict[str, Any]:
    numpy: dict[str, Any] = {"framework__name": "numpy", "framework__version": None, "framework__options": {}}
    return process(day=day, **{**numpy, "execution__threads": 1, **changes})


def side(name: str, *records: dict[str, Any]) -> Side:
    return Side(name, records)


def asked(start: str, **changes: Any) -> dict[str, Any]:
    record = measured(execution__start=start, **changes)
    record["specification"]["start"] = start
    return record


def stated(start: str, **asked_for: Any) -> dict[str, Any]:
    record = asked(start)
    record["specification"].update(asked_for)
    return record


def test_both_sides_are_cells_of_one_campaign_in_every_round() -> None:
    pair_plan = pairs_to_make([side("a", asked("spawn")), side("b", asked("fork"))], Amount(4))
    assert pair_plan.members == (("a", frozenset({0})), ("b", frozenset({1})))
    turns = []
    campaign = Campaign(pair_plan.runs, pair_plan.precision)
    for turn in campaign.turns():
        turns.append((turn.spec.repetition, turn.cell, turn.spec.start))
    assert sorted(turns) == [(i, c, s) for i in range(4) for c, s in ((0, "spawn"), (1, "fork"))]


def test_both_sides_have_the_same_values() -> None:
    sides = [side("a", asked("spawn", seed=5)), side("b", asked("fork", seed=6))]
    assert {run.seed for run in pairs_to_make(sides, Amount(3)).runs} == {5}


def test_the_newest_record_of_a_side_is_run() -> None:
    old, new = asked("spawn"), asked("spawn", day=2, campaign="d" * 32)
    new["specification"]["compile_cache"] = "cold"
    pair_plan = pairs_to_make([side("a", new, old), side("b", asked("fork"))], Amount(3))
    assert {run.compile_cache for run in pair_plan.runs if run.start == "spawn"} == {"cold"}


def test_a_baseline_is_run_once_for_several_sides() -> None:
    batches = [asked("fork"), asked("fork", batch_size=8)]
    sides = [side("a", asked("spawn"), asked("spawn", batch_size=8)), side("b", *batches)]
    pair_plan = pairs_to_make(sides, Amount(3))
    assert len(pair_plan.runs) == 12
    assert [len(cells) for _, cells in pair_plan.members] == [2, 2]
    made = [(cell, {"id": str(cell)}) for cell in range(4)]
    sides_made = pair_plan.sides(made)
    assert [[record["id"] for record in one.records] for one in sides_made] == [["0", "2"], ["1", "3"]]


def test_with_a_profile_it_ends_when_both_are_known() -> None:
    sides = [side("a", asked("spawn")), side("b", asked("fork"))]
    pair_plan = pairs_to_make(sides, Amount(profile="quick"))
    assert pair_plan.precision is not None
    assert pair_plan.precision.min_processes == 5
    assert len(pair_plan.runs) == 2


def test_the_same_run_on_both_sides_is_refused() -> None:
    sides = [side("a", asked("spawn")), side("b", asked("spawn", platform__cpu__model="Another"))]
    with pytest.raises(UsageError, match="which --aa does"):
        pairs_to_make(sides, Amount(3))


def test_what_cannot_be_run_is_told_with_its_record() -> None:
    gone = measured(framework__name="gone")
    with pytest.raises(
        UsageError, match=f"record {gone['id']} cannot be run again: unknown framework 'gone'"
    ):
        pairs_to_make([side("a", gone), side("b", asked("fork"))], Amount(3))


def test_a_record_is_run_twice_for_each_pair_with_itself() -> None:
    pair_plan = processes_to_make(side("a", asked("spawn")), Amount(5))
    assert [run.repetition for run in pair_plan.runs] == list(range(10))
    with pytest.raises(UsageError, match="got a profile"):
        processes_to_make(side("a", asked("spawn")), Amount(profile="quick"))


@pytest.mark.parametrize(
    ("sides", "amount", "reason"),
    [
        ([side("a", asked("spawn")), side("b", asked("fork"))], Amount(3), None),
        (
            [
                side("a", asked("spawn"), asked("spawn", batch_size=8)),
                side("b", asked("fork"), asked("fork", batch_size=8)),
            ],
            Amount(3),
            "there are 4 numbers, and only two take turns",
        ),
        (
            [side("a", asked("spawn")), side("b", asked("fork"))],
            Amount(profile="quick"),
            "a profile tells when",
        ),
        (
            [side("a", stated("spawn", steps=20)), side("b", stated("fork", steps=20))],
            Amount(3),
            "the runs state steps, which windows would not keep to",
        ),
    ],
)
def test_why_pairs_cannot_take_turns_is_told(sides: list[Side], amount: Amount, reason: str | None) -> None:
    told = pairs_to_make(sides, amount).why_no_turns
    assert told == reason or str(told).startswith(str(reason))


def test_workers_that_are_started_elsewhere_take_no_turns() -> None:
    told = processes_to_make(side("a", stated("spawn", launcher="mpi")), Amount(3)).why_no_turns
    assert told == "only workers that are started locally take turns, not by mpi"
