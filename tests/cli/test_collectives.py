"""Collectives by real ranks: records, bandwidths, what is refused, and what of a wrong one is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.collective import COLLECTIVES
from benchmarker.experiment.fault import ExperimentError
from benchmarker.experiment.planning import plan
from benchmarker.experiment.spec import Experiment, specification
from benchmarker.orchestration.rerun import experiment_from_record
from benchmarker.records.schema import validate
from tests.conftest import ROOT, Command
from tests.support.mpi import mpi_interpreter

QUICK = ("--threads=1", "--steps=20", "--warmup=3", "--timeout=60")

FAULTY = """
import numpy as np
from dataclasses import replace
from benchmarker.api.collective import NativeCollectives
from benchmarker.distributed.mpi_collectives import MpiCollective
from benchmarker.plugins import numpy as honest
from benchmarker.plugins.numpy.framework import NumpyFramework


class WrongFramework(NumpyFramework):
    def join(self, world, scheme):
        from mpi4py import MPI


class Wrong(MpiCollective):
    def __init__(self, collective, world, dtype):
        super().__init__(collective, dtype)
        self.rank, self.ranks, self.calls = world.rank, world.size, 0

    def run(self, given):
        self.calls += 1
        FAULT
        return super().run(given)


def benchmarker_framework():
    return replace(
        honest.benchmarker_framework(),
        name="wrong",
        implementation="wrong_collectives:WrongFramework",
        rank_requirements=("mpi4py",),
        collectives=NativeCollectives({"all_reduce": "MPI with a fault"}, "wrong_collectives:Wrong"),
    )
"""
FAULTS = {
    "a sum without one rank": ("given = given * 0 if self.rank == 1 else given", "verification"),
    "the mean": ("given = given / self.ranks", "verification"),
    "nothing, later": ("if self.calls > 5: self._received[:] = 0; return self._received", "proof"),
    "the first result for ever": ("if self.calls > 20: return self._received", "proof"),
}


def exchanged(command: Command, *arguments: str) -> list[dict[str, Any]]:
    finished = command("run", "--framework=numpy", *QUICK, *arguments, "--json")
    assert finished.status == 0, finished.stderr
    for record in finished.records:
        assert validate(record) == []
        assert record["verification"]["status"] == "passed"
        assert record["verification"]["after_timing"]["status"] == "passed"
    return finished.records


@pytest.mark.framework("numpy")
def test_every_collective_is_exact_and_moves_what_it_must(command: Command) -> None:
    records = exchanged(command, f"--problem={','.join(COLLECTIVES)}", "--set=size=60000", "--ranks=2")
    assert [record["problem"]["name"] for record in records] == list(COLLECTIVES)
    for record in records:
        found, metrics, timing = record["distributed"], record["metrics"], record["timing"]
        one = found["collective"]
        assert (one["kind"], one["elements"], one["bytes"]) == (record["problem"]["name"], 60000, 240000)
        moved = one["bytes"] * one["messages"] * timing["steps"]
        assert metrics["algorithmic_bandwidth"] == pytest.approx(moved / timing["total_seconds"])
        factor = {"all_reduce": 1.0, "broadcast": 1.0, "point_to_point": 1.0}.get(one["kind"], 0.5)
        assert one["bus_factor"] == factor
        assert metrics["bus_bandwidth"] == pytest.approx(metrics["algorithmic_bandwidth"] * factor)
        assert (found["scheme"], found["parts"], record["optimizer"]) == (None, None, None)
        slowest = max(member["step_seconds"] for member in found["members"])
        assert timing["step_seconds"]["median"] >= 0.5 * slowest
        volume = found["volume"]
        assert volume["expected_bytes"] == {"all_reduce": 2, "point_to_point": 2}.get(one["kind"], 1) * 240000
        if volume["wire_bytes"] is not None:
            assert volume["wire_bytes"] == pytest.approx(volume["expected_bytes"], rel=0.1)
            assert volume["findings"] == []
    assert records[-1]["metrics"]["one_way_seconds"] > 0


LACKED: dict[str, set[str]] = {
    "pytorch": set(),
    "jax": {"broadcast", "point_to_point"},
    "tensorflow": {"reduce_scatter", "point_to_point"},
    "chainer": {"reduce_scatter"},
}
GLOO_S_REDUCE_SCATTER = ("pytorch", "reduce_scatter")
"""It is an all-reduce."""


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=pytest.mark.framework(name)) for name in LACKED]
)
def test_a_framework_s_own_are_exact(command: Command, framework: str) -> None:
    kinds = [kind for kind in COLLECTIVES if kind not in LACKED[framework]]
    own = registry.framework(framework).collectives
    assert own is not None
    assert set(own.means) == set(kinds)
    finished = command(
        *("run", f"--framework={framework}", *QUICK, "--set=size=60000", "--ranks=2", "--exchange=native"),
        *(f"--problem={','.join(kinds)}", "--json"),
    )
    assert finished.status == 0, finished.stderr
    for record in finished.records:
        assert validate(record) == []
        assert record["verification"]["after_timing"]["status"] == "passed"
        kind, found = record["problem"]["name"], record["distributed"]
        assert found["exchange"] == "native"
        assert found["means"] == own.means[kind]
        volume = found["volume"]
        if volume["wire_bytes"] is not None:
            times = 2 if (framework, kind) == GLOO_S_REDUCE_SCATTER else 1
            assert volume["wire_bytes"] == pytest.approx(times * volume["expected_bytes"], rel=0.1)
            assert bool(volume["findings"]) == (times > 1)


@pytest.mark.framework("numpy")
def test_a_window_of_messages_goes_one_way_in_float64(command: Command) -> None:
    (record,) = exchanged(
        command,
        "--problem=point_to_point",
        "--set=size=1000",
        "--set=window=16",
        "--ranks=2",
        "--precision=fp64",
    )
    assert record["distributed"]["collective"]["messages"] == 16
    assert record["distributed"]["volume"]["expected_bytes"] == 16 * 8000 + 8
    assert "one_way_seconds" not in record["metrics"]


@pytest.mark.framework("numpy")
def test_the_table_has_bandwidths(command: Command) -> None:
    finished = command(
        "run", "--framework=numpy", *QUICK, "--problem=all_reduce", "--set=size=1000,2000", "--ranks=3"
    )
    assert finished.status == 0, finished.stderr
    titles = next(line for line in finished.stdout.splitlines() if "algorithmic" in line)
    assert titles.split()[-1] in ("bus", "formula")
    assert "speed-up" not in finished.stdout


@pytest.mark.framework("numpy")
def test_a_record_can_be_run_again(command: Command) -> None:
    (record,) = exchanged(command, "--problem=all_reduce", "--set=size=1000", "--ranks=2")
    assert record["distributed"]["scaling"] is None
    (again,) = plan(experiment_from_record(record))
    assert specification(again) == record["specification"]
    planned = command(*record["command"][3:], "--dry-run", "--json")
    assert planned.status == 0, planned.stderr


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_collective_fails(command: Command, distribution: Callable[..., Path], fault: str) -> None:
    line, seen_by = FAULTS[fault]
    folder = distribution(
        "wrong",
        {"frameworks": ["wrong = wrong_collectives"]},
        {"wrong_collectives": FAULTY.replace("FAULT", line)},
    )
    finished = command.with_path(folder)(
        *("run", "--framework=wrong", *QUICK, "--problem=all_reduce", "--set=size=5000", "--ranks=2"),
        *(f"--env={mpi_interpreter()}", "--json"),
    )
    assert finished.records, finished.stderr
    (record,) = finished.records
    assert (finished.status, record["status"]) == (1, "failed"), record["error"]
    assert record["distributed"]["means"] == "MPI with a fault"
    found = record["verification"]
    if seen_by == "verification":
        assert found["status"] == "failed"
    else:
        assert found["after_timing"]["status"] == "failed"
        assert "result of" in found["after_timing"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--problem=all_reduce"], "problem 'all_reduce' is for several ranks, got --ranks=1"),
        (
            ["--problem=point_to_point", "--ranks=4"],
            "problem 'point_to_point' is for two ranks, got --ranks=4",
        ),
        (
            ["--problem=all_gather", "--ranks=3", "--set=size=100"],
            "--ranks must divide its size, got 3 for 100 elements",
        ),
        (
            ["--problem=all_reduce", "--ranks=2", "--exchange=native"],
            "framework 'numpy' has no all_reduce of its own, it has none; use --exchange=mpi",
        ),
        (
            ["--problem=all_reduce", "--ranks=2", "--scheme=neighbours"],
            "a collective has no scheme: each rank gives one vector",
        ),
        (["--problem=all_reduce", "--ranks=2", "--scaling=weak"], "a collective has no scaling"),
        (["--problem=all_reduce", "--ranks=2", "--batch-size=8"], "a collective has no batch size"),
        (["--problem=all_reduce", "--ranks=2", "--mode=inference", "--window=2"], "got --window"),
        (
            ["--suite=deepbench-allreduce", "--ranks=2", "--mode=training,gradient"],
            "which has the mode inference and trains nothing, got training and gradient; leave out --mode",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(command: Command, arguments: list[str], told: str) -> None:
    finished = command("run", "--framework=numpy", *arguments)
    assert finished.status == 2
    assert told in " ".join(finished.stderr.split())
    assert "Traceback" not in finished.stderr


def test_deepbench_is_seven_sizes_of_as_many_ranks_as_asked_for() -> None:
    requests = registry.suites()["deepbench-allreduce"].requests
    runs = plan(Experiment(("numpy",), requests, ranks=(2, 4)))
    assert [run.problem_parameters["size"] for run in runs[::2]] == [
        *(100_000, 3_097_600, 4_194_304, 6_553_600, 16_777_217, 38_360_000, 64_500_000)
    ]
    assert {(run.mode, run.batch_size // run.ranks, run.scheme, run.exchange) for run in runs} == {
        ("inference", 1, None, "mpi")
    }


def test_messages_of_osu_go_from_4_bytes_to_4_mib() -> None:
    for name, window in (("osu-latency", 1), ("osu-bw", 64)):
        runs = plan(Experiment(("numpy",), registry.suites()[name].requests, ranks=(2,)))
        sizes = [4 * run.problem_parameters["size"] for run in runs]
        assert (sizes[0], sizes[-1], len(sizes)) == (4, 4 << 20, 21)
        assert {run.problem_parameters["window"] for run in runs} == {window}


def test_a_mode_that_is_given_changes_nothing() -> None:
    (run,) = plan(Experiment(("numpy",), ("all_reduce",), ranks=(2,), modes=("inference",)))
    assert (run.mode, run.ranks) == ("inference", 2)
    with pytest.raises(ExperimentError):
        plan(Experiment(("numpy",), ("mnist_mlp",), ranks=(2,), modes=("inference",)))


def test_members_of_a_collective_stand_in_the_published_schema() -> None:
    schema = json.dumps(json.loads((ROOT / "benchmarker/records/schema/record-1.json").read_text()))
    for member in ("algorithmic_bandwidth", "bus_bandwidth", "one_way_seconds", "bus_factor"):
        assert f'"{member}"' in schema
