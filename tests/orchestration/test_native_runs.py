"""Runs whose ranks exchange by their framework's own means, from the command to the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarker import registry
from tests.conftest import CACHE_HOME
from tests.support.quick_compilers import kept_compilations
from tests.support.rank_runs import BRIEF, MLP, PARAMETER_BYTES, check, proven, rank_command

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]

LOSS_BYTES = 8
"""That may go with the gradients."""


@pytest.mark.parametrize(
    "framework",
    ["pytorch", "chainer", "jax", "tensorflow", "keras_jax", "keras_pytorch", "keras_tensorflow"],
)
def test_a_framework_s_own_exchange_is_proven_as_any_other(framework: str, tmp_path: Path) -> None:
    command = rank_command(tmp_path)
    command.environment.update(kept_compilations(CACHE_HOME))
    arguments = (f"--framework={framework}", *MLP, *BRIEF, "--ranks=2", "--exchange=native", "--json")
    (record,) = proven(command(*arguments))
    told = record["distributed"]
    assert (told["exchange"], told["scheme"]) == ("native", "all-reduce")
    assert told["means"] == registry.framework(framework).schemes["all-reduce"].means
    (given,) = told["volume"]["logical_bytes"].values()
    assert 0 <= given - PARAMETER_BYTES <= LOSS_BYTES
    assert told["volume"]["expected_bytes"] == 2 * PARAMETER_BYTES
    if told["volume"]["wire_bytes"] is not None:
        assert 1 < told["volume"]["wire_bytes"] / told["volume"]["expected_bytes"] < 1.1
    # The exchange overlaps with what is computed.
    assert told["parts"]["compute_seconds"] > 0
    assert told["parts"]["exchange_seconds"] is None
    assert check(record, "weights of all ranks")["detail"] == "the same bits on 2 ranks"
    assert check(record, "further steps of all ranks")["status"] == "passed"


@pytest.mark.parametrize(
    ("framework", "times"), [("keras_jax", 25), ("keras_pytorch", 1), ("keras_tensorflow", 1)]
)
def test_what_keras_exchanges_in_a_loop_is_told(framework: str, times: int, tmp_path: Path) -> None:
    # XLA has the recurrence as a loop, and adds up its weights' gradients at each of the time steps.
    command = rank_command(tmp_path)
    command.environment.update(kept_compilations(CACHE_HOME))
    arguments = ("--problem=lstm_char", "--batch-size=8", *BRIEF, "--threads=1", "--monitors=none")
    (record,) = proven(
        command(f"--framework={framework}", *arguments, "--ranks=2", "--exchange=native", "--json")
    )
    volume = record["distributed"]["volume"]
    (given,) = volume["logical_bytes"].values()
    assert int(2 * given / volume["expected_bytes"]) == times
    if volume["wire_bytes"] is not None:
        assert 1 < volume["wire_bytes"] / (2 * given) < 1.1
        assert bool(volume["findings"]) == (times > 1)


def test_both_ways_make_the_same_steps(tmp_path: Path) -> None:
    arguments = ("--framework=chainer", *MLP, *BRIEF, "--ranks=2", "--exchange=native,mpi", "--json")
    native, over_mpi = proven(rank_command(tmp_path)(*arguments))
    assert [record["distributed"]["exchange"] for record in (native, over_mpi)] == ["native", "mpi"]
    for name in ("loss_first", "loss_last"):
        assert native["metrics"][name] == pytest.approx(over_mpi["metrics"][name], rel=1e-5)
    assert native["digests"] == over_mpi["digests"]


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_sharded_parameters_are_trained_and_what_gloo_sends_is_told(optimizer: str, tmp_path: Path) -> None:
    arguments = (
        "--framework=pytorch",
        *MLP,
        *BRIEF,
        f"--optimizer={optimizer}",
        "--ranks=2",
        "--scheme=sharded",
    )
    (record,) = proven(rank_command(tmp_path)(*arguments, "--json"))
    told = record["distributed"]
    assert told["means"] == "fully_shard (FSDP2) over gloo"
    assert told["volume"]["logical_bytes"] == {
        "all-gather": PARAMETER_BYTES / 2,
        "reduce-scatter": PARAMETER_BYTES,
    }
    # Gloo's reduce-scatter sends what an all-reduce does.
    if told["volume"]["wire_bytes"] is not None:
        assert told["volume"]["wire_bytes"] == pytest.approx(3 * PARAMETER_BYTES, rel=0.1)
        assert "times the bytes" in told["volume"]["findings"][0]
    assert check(record, "further steps of all ranks")["status"] == "passed"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--optimizer=lamb"], "takes the optimizers sgd, momentum, nesterov"),
        (["--clip-norm=1"], "got 'sgd' with what is done around it; use --exchange=mpi"),
        (["--precision=bf16"], "takes the precisions fp32, fp64, got bf16; use --exchange=mpi"),
    ],
    ids=["optimizer", "modifiers", "precision"],
)
def test_what_cannot_be_sharded_is_refused_beforehand(more: list[str], sentence: str, tmp_path: Path) -> None:
    finished = rank_command(tmp_path)(
        "--framework=pytorch", *MLP, *BRIEF, "--ranks=2", "--scheme=sharded", *more
    )
    assert finished.status == 2
    assert sentence in " ".join(finished.stderr.split())
