"""Runs of several ranks from their command to their records: NumPy, gradients averaged over MPI."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from tests.conftest import Command, Finished
from tests.support.rank_runs import NUMPY, PARAMETER_BYTES, check, counted, proven, rank_command, stored

pytestmark = [pytest.mark.framework, pytest.mark.timeout(120)]

STEPS = 6
Cells = dict[tuple[int, str], dict[str, Any]]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return rank_command(tmp_path_factory.mktemp("ranks"))


@pytest.fixture(scope="module")
def finished(command: Command) -> Finished:
    return command(*NUMPY, "--ranks=1,2,4", "--scaling=strong,weak")


@pytest.fixture(scope="module")
def cells(finished: Finished, command: Command) -> Cells:
    """Return the records by ranks and scaling; of one rank there is no scaling."""
    records = proven(finished, stored(command.folder))
    assert command("validate").status == 0
    return {_cell(record): record for record in records}


def _cell(record: dict[str, Any]) -> tuple[int, str]:
    of_ranks = record["distributed"]
    return (of_ranks["ranks"], of_ranks["scaling"]) if of_ranks else (1, "")


def several(cells: Cells) -> list[dict[str, Any]]:
    return [record for record in cells.values() if record["distributed"]]


def test_each_number_of_ranks_is_one_record(cells: Cells) -> None:
    assert sorted(cells) == [(1, ""), (2, "strong"), (2, "weak"), (4, "strong"), (4, "weak")]
    for record in cells.values():
        assert len(record["timing"]["samples_seconds"]) == STEPS
        assert "ranks" in record["verification"]["reference"] or record["distributed"] is None


def test_ranks_share_the_mini_batch_or_it_grows_with_them(cells: Cells) -> None:
    rows = {
        cell: (r["batch_size"], r["distributed"]["rows"]) for cell, r in cells.items() if r["distributed"]
    }
    assert rows == {
        (2, "strong"): (64, 32),
        (4, "strong"): (64, 16),
        (2, "weak"): (128, 64),
        (4, "weak"): (256, 64),
    }


def test_how_many_ranks_there_are_changes_neither_values_nor_losses(cells: Cells) -> None:
    shared = [cells[1, ""], cells[2, "strong"], cells[4, "strong"]]
    for name in ("parameters", "batch"):
        assert len({record["digests"][name] for record in shared}) == 1
    first, *others = [record["metrics"]["loss_first"] for record in shared]
    assert others == pytest.approx([first] * 2, rel=1e-6)
    # Those of several ranks make as many steps; one rank has none to be followed by another.
    two, four = (record["metrics"]["loss_last"] for record in shared[1:])
    assert two == pytest.approx(four, rel=1e-5)
    assert len({record["digests"]["batch"] for record in cells.values()}) == 3


def test_the_formula_says_what_is_given_to_collectives(cells: Cells) -> None:
    for record in several(cells):
        told, ranks = record["distributed"], record["distributed"]["ranks"]
        assert told["parameter_bytes"] == PARAMETER_BYTES
        assert told["volume"]["logical_bytes"] == {"all-reduce": PARAMETER_BYTES}
        assert told["volume"]["expected_bytes"] == 2 * (ranks - 1) * PARAMETER_BYTES
        assert told["volume"]["findings"] == []


@counted
def test_the_wire_carries_what_the_formula_says_and_headers(cells: Cells) -> None:
    for record in several(cells):
        volume = record["distributed"]["volume"]
        assert record["distributed"]["network"] == {"kind": "counted", "rate": None, "reason": None}
        assert 1 < volume["wire_bytes"] / volume["expected_bytes"] < 1.05


def test_the_step_is_the_slowest_rank_s(cells: Cells) -> None:
    for record in several(cells):
        median = record["timing"]["step_seconds"]["median"]
        of_ranks = [member["step_seconds"] for member in record["distributed"]["members"]]
        assert [member["rank"] for member in record["distributed"]["members"]] == list(range(len(of_ranks)))
        # Of the slowest in each block, which none is in all of them.
        assert median >= 0.95 * max(of_ranks)
        assert 0 <= record["distributed"]["skew_seconds"] <= median


def test_the_parts_of_a_step_add_up_to_it(cells: Cells) -> None:
    shares = []
    for record in several(cells):
        told = record["distributed"]
        for member in told["members"]:
            parts = dict(member["part_seconds"])
            assert parts.pop("compute") > 0
            assert set(parts) == {"forward and backward", "fetch", "exchange and update", "assign"}
            shares.append(sum(parts.values()) / member["step_seconds"])
        parts = told["parts"]
        slowest = max(member["part_seconds"]["exchange and update"] for member in told["members"])
        assert 0 < parts["exchange_seconds"] <= slowest
        assert parts["compute_seconds"] == max(
            member["part_seconds"]["compute"] for member in told["members"]
        )
        assert parts["waiting_seconds"] >= 0
    # Medians of further steps, on a machine that does other things too.
    assert 0.3 < statistics.median(shares) < 3


def test_parts_follow_each_other_on_a_rank_and_no_exchange_ends_before_the_last_rank_came_to_it(
    cells: Cells,
) -> None:
    for record in several(cells):
        members = record["distributed"]["members"]
        for member in members:
            spans = member["part_spans"]
            ends = [span["began_seconds"] + span["seconds"] for span in spans]
            assert all(end <= after["began_seconds"] + 1e-9 for end, after in zip(ends, spans[1:]))
            assert len({span["step"] for span in spans}) == min(10, len(spans) // 4)
        exchanges = [
            [span for span in member["part_spans"] if span["part"] == "exchange and update"]
            for member in members
        ]
        for same in zip(*exchanges):
            last = max(span["began_seconds"] for span in same)
            assert all(span["began_seconds"] + span["seconds"] >= last for span in same)


def test_it_is_told_how_ranks_met_and_where_they_ran(cells: Cells) -> None:
    for (ranks, _), record in cells.items():
        told = record["distributed"]
        if told is None:
            continue
        assert (told["scheme"], told["exchange"], told["staleness"]) == ("all-reduce", "mpi", None)
        assert told["rendezvous_seconds"] > 0
        assert told["import_wait_seconds"] >= 0
        cpus = [member["cpus"] for member in told["members"]]
        assert all(cpus)
        if ranks <= len(set().union(*cpus)):
            assert len({tuple(own) for own in cpus}) == ranks


def test_all_was_looked_at_again(cells: Cells) -> None:
    for (ranks, _), record in cells.items():
        if record["distributed"]:
            assert check(record, "weights of all ranks")["detail"] == f"the same bits on {ranks} ranks"
            assert check(record, "further steps of all ranks")["status"] == "passed"
            assert record["verification"]["tensors"][-1]["kind"] == "update"


def test_the_tables_say_what_ranks_are_worth(finished: Finished) -> None:
    told = " ".join(finished.stdout.split())
    for words in ("speed-up", "efficiency", "waiting", "Bytes per step, of all ranks together"):
        assert words in told, finished.stdout
    assert "2 ranks by all-reduce (mpi)" in finished.stderr
    assert "5 records in" in finished.stdout


def test_ranks_take_micro_batches_and_adam_s_moments_go_on(command: Command) -> None:
    (record,) = proven(
        command(*NUMPY, "--ranks=2", "--micro-batch=8", "--optimizer=adam", "--clip-norm=0.5", "--json")
    )
    assert record["distributed"]["volume"]["logical_bytes"] == {"all-reduce": PARAMETER_BYTES}
    assert "forward, backward and fetch" in record["distributed"]["members"][1]["part_seconds"]
    assert check(record, "further steps of all ranks")["status"] == "passed"


def test_the_same_seed_gives_the_same_run(command: Command) -> None:
    arguments = ("--ranks=2", "--seed=7", "--repeats=2", "--network=shared", "--json")
    first, second = proven(command(*NUMPY, *arguments))
    assert first["distributed"]["network"]["kind"] == "shared"
    assert first["distributed"]["volume"]["wire_bytes"] is None
    assert first["distributed"]["network"]["reason"]
    assert first["digests"] == second["digests"]
    assert first["metrics"]["loss_last"] == second["metrics"]["loss_last"]
