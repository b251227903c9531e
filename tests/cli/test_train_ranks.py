"""``train`` with several ranks: the training of one process, whoever makes it, and what is refused in a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.records.schema import validate
from tests.cli.test_train import quick
from tests.conftest import Command

SCHEDULED = '[training.schedules]\nlearning_rate = { kind = "cosine", warmup = 20 }\n'
OVER_MPI = ("--framework=numpy", "--threads=1", "--exchange=mpi", "--seed=4")


def trained(command: Command, *arguments: str, recipe: str) -> list[dict[str, Any]]:
    finished = command("train", recipe, *arguments, "--json")
    assert finished.status == 0, finished.stderr
    for record in finished.records:
        assert validate(record) == []
        assert record["verification"]["status"] == "passed"
        assert record["verification"]["after_timing"]["status"] == "passed"
    return finished.records


def checks(record: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in record["verification"]["after_timing"]["checks"]}


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("more", ["", SCHEDULED], ids=["constant", "scheduled"])
def test_ranks_make_the_training_of_one(command: Command, more: str) -> None:
    recipe = quick(command, target=0.9, more=more)
    alone, together = trained(command, *OVER_MPI, "--ranks=1,2", recipe=recipe)
    one, two = alone["training"], together["training"]
    assert two["curve"]["step"] == one["curve"]["step"]
    assert two["curve"]["correct"] == one["curve"]["correct"]
    assert two["best"] == one["best"]
    assert {**two["digests"], "final_parameters": ""} == {**one["digests"], "final_parameters": ""}
    assert two["final"]["reference_correct"] == two["final"]["correct"]
    assert together["distributed"]["ranks"] == 2
    assert together["distributed"]["parts"]["compute_seconds"] > 0
    found = checks(together)
    assert found["weights of all ranks"] == "passed"
    assert found["further steps of all ranks"] == "passed"
    assert found["final accuracy"] == found["evaluated weights"] == "passed"


@pytest.mark.framework("numpy")
def test_replicas_that_differ_are_evaluated_by_their_mean(command: Command) -> None:
    # Every step is followed that shows the mean of the sixth, and so made twice as often as the first alone.
    (record,) = trained(command, *OVER_MPI, "--ranks=2", "--scheme=averaging/6", recipe=quick(command))
    assert checks(record)["evaluated weights"] == "left_out"
    assert checks(record)["final accuracy"] == "passed"
    assert record["training"]["outcome"] == "target"


@pytest.mark.framework("numpy")
def test_a_server_trains_to_the_target_and_is_replayed(command: Command) -> None:
    arguments = (*OVER_MPI, "--ranks=2", "--scheme=stale-synchronous/2")
    (record,) = trained(command, *arguments, recipe=quick(command))
    assert checks(record)["replay of the server's log"] == "passed"
    assert max(map(int, record["distributed"]["staleness"])) <= 2 * 2 + 1
    assert record["distributed"]["server_updates"] == 2 * record["training"]["steps"]


@pytest.mark.framework("pytorch")
def test_the_frameworks_own_exchange_trains_too(command: Command) -> None:
    recipe = quick(command, target=0.9, more=SCHEDULED)
    arguments = ("--framework=pytorch", "--threads=1", "--seed=4")
    alone, together = trained(command, *arguments, "--ranks=1,2", recipe=recipe)
    assert together["distributed"]["exchange"] == "native"
    assert together["training"]["curve"]["correct"] == alone["training"]["curve"]["correct"]


@pytest.mark.framework("numpy")
def test_a_table_has_them_beside_one_process(command: Command) -> None:
    finished = command("train", quick(command), *OVER_MPI, "--ranks=1,2", "--quiet")
    assert finished.status == 0, finished.stderr
    words = " ".join(finished.stdout.split())
    assert "2 ranks" in words
    assert "Equal in steps, at each of 1 seed" in words


@pytest.mark.parametrize(
    ("more", "arguments", "sentence"),
    [
        (
            SCHEDULED,
            ["--scheme=parameter-server"],
            "has its optimizer on a server, which keeps its constants",
        ),
        ("", ["--divergence=5"], "--divergence is for a training of one rank"),
        ("", ["--checkpoint-every=1"], "checkpoints are for trainings of one rank"),
        (
            "",
            ["--scheme=sharded", "--optimizer=schedule_free_sgd"],
            "evaluates weights other than those it trains",
        ),
    ],
    ids=["schedules", "divergence", "checkpoints", "evaluated"],
)
def test_what_ranks_cannot_is_refused_before_anything_starts(
    command: Command, more: str, arguments: list[str], sentence: str
) -> None:
    finished = command("train", quick(command, more=more), *OVER_MPI, "--ranks=2", *arguments)
    assert finished.status == 2
    assert sentence in " ".join(finished.stderr.split())
    assert not (command.folder / "results").exists()
