"""Every scheme in a run of two ranks, over MPI between NumPy's gradients and its updates: proven, and told of."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker import registry
from tests.conftest import ROOT, Command
from tests.support.rank_runs import MLP, NUMPY, PARAMETER_BYTES, check, counted, proven, rank_command

pytestmark = [pytest.mark.framework, pytest.mark.timeout(120)]

MINE = str(ROOT / "examples" / "schemes" / "majority_vote.py")
SCHEMES = {
    "asynchronous-server": "send",
    "averaging/2": "all-reduce",
    "neighbours": "swap",
    "parameter-server": "send",
    "sharded": "all-gather",
    "sparse/0.1": "all-gather",
    "stale-synchronous/1": "send",
    MINE: "all-gather",
}
"""With a kind of exchange that each of them uses; all-reduce has a module of its own."""
REPLAYED = ("asynchronous-server", "stale-synchronous/1")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    command = rank_command(tmp_path_factory.mktemp("schemes"))
    run = ("--framework=numpy", *MLP, "--steps=26", "--warmup=1", "--ranks=2")
    found = proven(command(*run, f"--scheme={','.join(SCHEMES)}", "--json"))
    return dict(zip(SCHEMES, found, strict=True))


def test_there_is_a_run_of_each_scheme() -> None:
    own = {registry.scheme(name).name for name in SCHEMES} | {"all-reduce"}
    assert own >= set(registry.names("schemes", ours=True))


@pytest.mark.parametrize("name", SCHEMES)
def test_it_exchanges_what_it_is_for(name: str, records: dict[str, dict[str, Any]]) -> None:
    told, scheme = records[name]["distributed"], registry.scheme(name)
    assert told["scheme"].endswith(scheme.label)
    assert SCHEMES[name] in told["volume"]["logical_bytes"]
    assert told["volume"]["expected_bytes"] == pytest.approx(2 * scheme.sent_bytes(PARAMETER_BYTES, 2))
    assert told["parts"]["exchange_seconds"] > 0


@counted
@pytest.mark.parametrize("name", [name for name in SCHEMES if name not in REPLAYED and name != MINE])
def test_the_wire_carries_what_its_formula_says(name: str, records: dict[str, dict[str, Any]]) -> None:
    volume = records[name]["distributed"]["volume"]
    assert 1 <= volume["wire_bytes"] / volume["expected_bytes"] < 1.1, volume


@pytest.mark.parametrize("name", SCHEMES)
def test_what_is_looked_at_again_is_what_it_promises(name: str, records: dict[str, dict[str, Any]]) -> None:
    record, scheme = records[name], registry.scheme(name)
    checks = {one["name"]: one for one in record["verification"]["after_timing"]["checks"]}
    assert ("weights of all ranks" in checks) == scheme.is_consistent
    assert ("replay of the server's log" in checks) == scheme.is_replayed
    # The mean gradient's first steps are updates too; those of replayed schemes are not followed.
    updates = [one["name"] for one in record["verification"]["tensors"] if one["kind"] == "update"]
    assert len(updates) == (0 if scheme.is_replayed else 6 * scheme.proof_steps)


@pytest.mark.parametrize("name", REPLAYED)
def test_the_log_of_few_steps_is_replayed_bit_by_bit(name: str, records: dict[str, dict[str, Any]]) -> None:
    # The first 60 updates go on into the steps that are timed in parts.
    assert check(records[name], "replay of the server's log")["detail"] == "the same bits after 60 updates"


@pytest.mark.parametrize("name", REPLAYED)
def test_staleness_is_counted_for_every_update(name: str, records: dict[str, dict[str, Any]]) -> None:
    told = records[name]["distributed"]
    assert sum(told["staleness"].values()) == told["server_updates"] > 60
    assert all(int(age) >= 0 and count > 0 for age, count in told["staleness"].items())


def test_a_synchronous_server_makes_one_update_a_step(records: dict[str, dict[str, Any]]) -> None:
    told = records["parameter-server"]["distributed"]
    steps = told["server_updates"]
    assert told["staleness"] == {"0": steps}
    assert steps < min(records[name]["distributed"]["server_updates"] for name in REPLAYED)


def test_a_sparse_scheme_tells_its_density(records: dict[str, dict[str, Any]]) -> None:
    for member in records["sparse/0.1"]["distributed"]["members"]:
        assert 0.1 <= member["report"]["density"] <= 0.2


def test_a_replay_takes_micro_batches_and_mini_batches_that_steps_bring_to_the_device(
    command: Command,
) -> None:
    ranks = rank_command(command.folder)
    arguments = (
        "--ranks=2",
        "--scheme=asynchronous-server",
        "--micro-batch=8",
        "--inputs=fed",
        "--optimizer=adam",
    )
    (record,) = proven(ranks(*NUMPY, *arguments, "--json"))
    # Fewer than are replayed at most where steps are slow: as many as go into the time for their parts.
    made = min(60, record["distributed"]["server_updates"])
    assert check(record, "replay of the server's log")["detail"] == f"the same bits after {made} updates"
