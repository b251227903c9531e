"""Campaigns: which run comes next, and when there have been enough; records are made, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarker.experiment.campaign import Campaign, ScheduledRun, replication_status
from benchmarker.experiment.keys import identity
from benchmarker.experiment.planning import plan
from benchmarker.experiment.precision import PROFILES, Precision
from benchmarker.experiment.spec import Experiment, RunSpec
from benchmarker.records.schema import validate
from benchmarker.statistics import across_processes
from tests.support.records import make_failed_record, make_record

QUICK = PROFILES["quick"]
STEADY = (1.0, 1.002, 0.998, 1.001, 0.999)
"""Medians whose interval is within 1 %."""
NOISY = (1.0, 1.3, 0.8, 1.2, 0.9, 1.1)
"""Medians whose interval is not within 5 %, however often they come around."""


def runs(batch_sizes: tuple[int, ...] = (2,), **options: Any) -> list[RunSpec]:
    return plan(Experiment(("numpy",), ("mnist_mlp",), batch_sizes=batch_sizes, **options))


def result(median: float, seconds: float = 1.0) -> dict[str, Any]:
    """Return the record of a process whose median step and whose own time are given."""
    return make_record((median,) * 20, execution__worker_seconds=seconds)


def failed(status: str = "crashed") -> dict[str, Any]:
    return make_failed_record(status)


def carried_out(
    campaign: Campaign, record_of: Callable[[ScheduledRun], dict[str, Any]]
) -> Iterator[tuple[ScheduledRun, dict[str, Any]]]:
    """Take the record of every turn, as the orchestrator does, and yield it complete."""
    for turn in campaign.turns():
        record = {**record_of(turn), "repetition": turn.spec.repetition}
        record["replication"] = campaign.take(turn, record)
        yield turn, record


def replications(campaign: Campaign, medians: Iterable[float], seconds: float = 1.0) -> list[dict[str, Any]]:
    """Return the ``replication`` of each process of a campaign's only cell."""
    sequence = iter(medians)
    found = [record for _, record in carried_out(campaign, lambda turn: result(next(sequence), seconds))]
    assert [fault for record in found for fault in validate(record)] == []
    return [record["replication"] for record in found]


# --- order -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_rounds_come_in_pairs_of_an_order_and_its_mirror_image(seed: int) -> None:
    campaign = Campaign(runs((2, 4), repeats=6, seeds=(seed,)))
    cells = [turn.cell for turn in campaign.turns()]
    blocks = [tuple(cells[start : start + 4]) for start in range(0, 12, 4)]
    assert set(blocks) <= {(0, 1, 1, 0), (1, 0, 0, 1)}


def test_the_coin_falls_both_ways() -> None:
    first = {next(iter(Campaign(runs((2, 4), repeats=2, seeds=(seed,))).turns())).cell for seed in range(8)}
    assert first == {0, 1}


def test_each_round_has_every_cell_once() -> None:
    campaign = Campaign(runs((1, 2, 4, 8), repeats=4))
    turns = list(campaign.turns())
    rounds = [turns[start : start + 4] for start in range(0, 16, 4)]
    for number, turns_of_it in enumerate(rounds):
        assert sorted(turn.spec.batch_size for turn in turns_of_it) == [1, 2, 4, 8]
        assert {turn.spec.repetition for turn in turns_of_it} == {number}
        assert [turn.position for turn in turns_of_it] == [0, 1, 2, 3]
    orders = [[turn.cell for turn in turns_of_it] for turns_of_it in rounds]
    assert orders[1] == orders[0][::-1]
    assert orders[3] == orders[2][::-1]


def test_one_round_keeps_the_order_that_was_asked_for() -> None:
    asked = runs((8, 1, 4, 2))
    assert [turn.spec for turn in Campaign(asked).turns()] == asked


def test_the_first_round_can_keep_the_order_and_the_second_is_its_mirror_image() -> None:
    campaign = Campaign(runs((1, 2, 4, 8), repeats=4), keep_first_order=True)
    cells = [turn.cell for turn in campaign.turns()]
    assert cells[:8] == [0, 1, 2, 3, 3, 2, 1, 0]
    assert sorted(cells[8:12]) == [0, 1, 2, 3]
    assert cells[12:] == cells[8:12][::-1]


def test_every_run_of_a_campaign_is_one_of_the_plan() -> None:
    asked = runs((2, 4), repeats=3)
    campaign = Campaign(asked)
    assert campaign.least == 6
    assert sorted(campaign.every(), key=repr) == sorted(asked, key=repr)
    wide = Campaign(runs((2, 4), profile="quick"), QUICK)
    assert (wide.least, len(wide.every())) == (10, 20)


# --- repeats ---------------------------------------------------------------------------------------


def test_repeats_run_all_whatever_they_say() -> None:
    found = replications(Campaign(runs(repeats=4)), NOISY)
    assert [one["stop_reason"] for one in found] == [None, None, None, "max_processes"]
    assert [one["processes"] for one in found] == [1, 2, 3, 4]
    assert [one["ci95"] is None for one in found] == [True, True, False, False]
    across = across_processes(NOISY[:4])
    assert found[-1]["centre_seconds"] == across.centre
    assert found[-1]["half_width"] == across.half_width
    assert {one["campaign"] for one in found} == {found[0]["campaign"]}
    assert found[-1]["target_half_width"] is None
    assert found[-1]["not_met"] == []


def test_one_process_speaks_for_itself_alone() -> None:
    (one,) = replications(Campaign(runs()), [2.0])
    assert (one["processes"], one["min_processes"], one["max_processes"]) == (1, 1, 1)
    assert (one["stop_reason"], one["centre_seconds"], one["ci95"]) == ("max_processes", 2.0, None)


def test_a_failure_does_not_end_repeats() -> None:
    records = iter([failed(), result(1.0), result(1.1)])
    found = [record for _, record in carried_out(Campaign(runs(repeats=3)), lambda turn: next(records))]
    assert [record["replication"]["processes"] for record in found] == [0, 1, 2]
    assert found[0]["replication"]["centre_seconds"] is None
    assert [fault for record in found for fault in validate(record)] == []


# --- profiles --------------------------------------------------------------------------------------


def test_a_number_that_is_known_well_enough_ends_its_cell() -> None:
    found = replications(Campaign(runs(), QUICK), STEADY * 2)
    assert [one["stop_reason"] for one in found] == [None] * 4 + ["precision"]
    assert found[-1]["half_width"] <= QUICK.half_width
    assert found[-1]["not_met"] == []
    asked = {name: found[-1][name] for name in ("profile", "target_half_width", "min_processes")}
    assert asked == {"profile": "quick", "target_half_width": 0.05, "min_processes": 5}
    assert (found[-1]["max_processes"], found[-1]["budget_seconds"]) == (10, 120.0)


def test_a_cell_that_stays_noisy_ends_with_the_most_processes() -> None:
    found = replications(Campaign(runs(), QUICK), NOISY * 2)
    assert len(found) == QUICK.max_processes
    assert found[-1]["stop_reason"] == "max_processes"
    (missed,) = found[-1]["not_met"]
    assert missed.startswith("half-width at most 5 %, it is ")


def test_time_is_that_of_the_cells_own_workers() -> None:
    found = replications(Campaign(runs(), QUICK), NOISY * 2, seconds=50.0)
    assert len(found) == 3
    assert found[-1]["stop_reason"] == "time_budget"
    assert found[-1]["not_met"][0] == "3 of at least 5 processes"


def test_a_cell_that_is_done_leaves_the_others_to_go_on() -> None:
    campaign = Campaign(runs((2, 4)), QUICK)
    taken = [0, 0]

    def record_of(turn: ScheduledRun) -> dict[str, Any]:
        medians = (STEADY, NOISY)[turn.cell]
        taken[turn.cell] += 1
        return result(medians[(taken[turn.cell] - 1) % len(medians)])

    ended = [
        (turn.cell, record["replication"]["stop_reason"])
        for turn, record in carried_out(campaign, record_of)
        if record["replication"]["stop_reason"]
    ]
    assert taken == [5, 10]
    assert ended == [(0, "precision"), (1, "max_processes")]


@pytest.mark.parametrize("status", ["failed", "crashed", "out_of_memory", "timeout"])
def test_a_failure_ends_its_cell_in_a_profile(status: str) -> None:
    campaign = Campaign(runs((2, 4)), QUICK)
    medians = iter(STEADY)
    found = list(
        carried_out(campaign, lambda turn: failed(status) if turn.cell == 0 else result(next(medians)))
    )
    assert [turn.cell for turn, _ in found].count(0) == 1
    assert [turn.cell for turn, _ in found].count(1) == 5
    assert [fault for _, record in found for fault in validate(record)] == []


def test_a_run_that_is_left_out_ends_its_cell() -> None:
    campaign = Campaign(runs((2, 4)), QUICK)
    found = []
    for turn in campaign.turns():
        if turn.cell == 1:
            campaign.leave_out(turn)
            found.append("left out")
        else:
            campaign.take(turn, result(1.0))
    assert found == ["left out"]


@pytest.mark.parametrize("wanted", [None, QUICK])
def test_an_interrupt_is_why_the_cell_ended(wanted: Precision | None) -> None:
    campaign = Campaign(runs(repeats=9), wanted)
    records = iter([result(1.0), result(1.1), failed("interrupted")])
    turns = campaign.turns()
    found = [campaign.take(next(turns), next(records)) for _ in range(3)]
    assert [one["stop_reason"] for one in found] == [None, None, "interrupted"]
    assert found[-1]["processes"] == 2
    assert list(turns) == []


def test_records_from_before_count() -> None:
    """What ``--resume`` finds is taken without being run, and its medians and its time count."""
    campaign = Campaign(runs(), QUICK)
    turns = campaign.turns()
    for median in STEADY[:4]:
        campaign.take(next(turns), result(median))
    last = campaign.take(next(turns), result(STEADY[4]))
    assert (last["processes"], last["round"], last["stop_reason"]) == (5, 4, "precision")
    assert list(turns) == []


def test_each_new_record_names_those_from_before_that_count() -> None:
    """Also those of later rounds, whose turn has not come yet."""
    asked = runs((2, 4), repeats=3)
    before = {identity(run): f"{run.batch_size}-{run.repetition}" for run in asked if run.repetition != 1}
    campaign = Campaign(asked)
    campaign.resume(before)
    found = {
        turn.spec.batch_size: record["replication"]["resumed"]
        for turn, record in carried_out(campaign, lambda turn: result(1.0))
        if turn.spec.repetition == 1
    }
    assert found == {2: ["2-0", "2-2"], 4: ["4-0", "4-2"]}
    assert replications(Campaign(runs()), [1.0])[0]["resumed"] == []


def test_a_record_that_does_not_tell_its_time_counts_none() -> None:
    campaign = Campaign(runs(), replace(QUICK, budget_seconds=1e-3))
    turn = next(iter(campaign.turns()))
    assert campaign.take(turn, result(1.0, seconds=0.0))["stop_reason"] is None
    old = result(1.0)
    del old["execution"]["worker_seconds"]
    assert campaign.take(turn, old)["stop_reason"] is None


def test_each_number_of_a_profile_can_be_set() -> None:
    asked = Experiment(("numpy",), ("mnist_mlp",), profile="quick", half_width=0.9, min_processes=3)
    (run, *_) = plan(asked)
    assert (run.target_seconds, run.minimum_samples) == (QUICK.min_steady_seconds, QUICK.min_steps)
    found = replications(Campaign(plan(asked), asked.wanted_precision), NOISY)
    assert (len(found), found[-1]["stop_reason"]) == (3, "precision")


# --- what is told meanwhile ------------------------------------------------------------------------


def test_after_five_processes_it_says_how_many_more_are_needed() -> None:
    found = [replication_status(one) for one in replications(Campaign(runs(), QUICK), NOISY * 2)]
    assert found[:4] == [None] * 4
    assert found[-1] is None  # it has ended
    assert all(found[4:-1])
    last = replications(Campaign(runs(), QUICK), NOISY * 2)[4]
    more = last["expected_processes"] - 5
    assert found[4] == (
        f"known to within {last['half_width']:.1%} after 5 processes; 5.0% needs about {more} more, {more} s"
    )


def test_repeats_ask_for_no_precision_and_have_no_outlook() -> None:
    assert {replication_status(one) for one in replications(Campaign(runs(repeats=8)), NOISY * 2)} == {None}
