"""What the options of a run do to it, and that its record's own command repeats it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from benchmarker.statistics import geometric_mean
from benchmarker.worker.python_build import PythonBuild, python_build
from tests.conftest import Command
from tests.support.mirror_framework import seen, with_mirror

pytestmark = pytest.mark.framework("numpy")

QUICK = ("--problem=mnist_mlp", "--batch-size=2", "--steps=2", "--warmup=0", "--json")
NUMPY = ("--framework=numpy", *QUICK)
MIRROR = ("--framework=mirror", *QUICK)
CPUS = sorted(os.sched_getaffinity(0))
SAME = ("mode", "batch_size", "precision", "seed", "optimizer", "digests", "problem", "command")


def test_repeats_are_fresh_processes_that_compute_the_same(command: Command, tmp_path: Path) -> None:
    records = with_mirror(command, tmp_path)(*MIRROR, "--repeats=3").records
    assert [record["repetition"] for record in records] == [0, 1, 2]
    assert len({seen(record)["process"] for record in records}) == 3
    assert len({record["id"] for record in records}) == 3
    starts = [record["started_at"] for record in records]
    assert starts == sorted(set(starts))
    assert all(record["timing"]["process_start_seconds"] > 0 for record in records)
    assert records[0]["digests"] == records[1]["digests"] == records[2]["digests"]
    assert len({record["metrics"]["loss_last"] for record in records}) == 1


PROFILE = (
    *("--framework=numpy", "--problem=mnist_mlp", "--mode=inference", "--batch-size=2,4", "--no-verify"),
    *("--half-width=0.9", "--min-processes=3", "--max-processes=4", "--json"),
    *("--warmup=1", "--seconds=0.05", "--min-samples=5"),
)


def test_a_cell_has_fresh_processes_until_its_number_is_known(command: Command) -> None:
    finished = command(*PROFILE)
    assert finished.status == 0, finished.stderr
    assert len({record["replication"]["campaign"] for record in finished.records}) == 1
    for size in (2, 4):
        records = [record for record in finished.records if record["batch_size"] == size]
        found = [record["replication"] for record in records]
        assert [one["processes"] for one in found] == list(range(1, len(found) + 1))
        assert {one["stop_reason"] for one in found[:-1]} == {None}
        assert found[-1]["stop_reason"] == (
            "precision" if found[-1]["half_width"] <= 0.9 else "max_processes"
        )
        assert found[-1]["target_half_width"] == 0.9
        assert all(len(record["timing"]["samples_seconds"]) >= 5 for record in records)
    first, second = (
        [record["batch_size"] for record in finished.records if record["repetition"] == number]
        for number in (0, 1)
    )
    assert second == first[::-1]


def test_resuming_a_campaign_counts_its_earlier_processes(command: Command) -> None:
    before = command(*PROFILE).records
    for path in (command.folder / "results").glob("*.json"):
        if json.loads(path.read_text())["repetition"] >= 2:
            path.unlink()
    resumed = command(*PROFILE, "--resume")
    assert resumed.status == 0, resumed.stderr
    assert {record["repetition"] for record in resumed.records} <= {2, 3}
    for third in (record for record in resumed.records if record["repetition"] == 2):
        kept = [
            record
            for record in before
            if record["batch_size"] == third["batch_size"] and record["repetition"] < 2
        ]
        medians = [record["timing"]["step_seconds"]["median"] for record in (*kept, third)]
        assert third["replication"]["processes"] == len(medians) == 3
        assert third["replication"]["centre_seconds"] == pytest.approx(geometric_mean(medians))
    assert [record["repetition"] for record in resumed.records].count(2) == 2


def test_the_seed_decides_weights_and_batches(command: Command) -> None:
    one, two = command(*NUMPY, "--seed=1,2").records
    (again,) = command(*NUMPY, "--seed=1").records
    assert [record["seed"] for record in (one, two, again)] == [1, 2, 1]
    assert one["digests"] == again["digests"]
    assert one["digests"]["parameters"] != two["digests"]["parameters"]
    assert one["digests"]["batch"] != two["digests"]["batch"]


@pytest.mark.skipif(len(CPUS) < 2, reason="only one CPU can be used")
def test_threads_are_set_before_the_worker_starts(command: Command, tmp_path: Path) -> None:
    one, two = with_mirror(command, tmp_path)(*MIRROR, "--threads=1,2").records
    for record, threads in ((one, 1), (two, 2)):
        variables = record["execution"]["environment_variables"]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MIRROR_THREADS")
        assert {variables[name] for name in names} == {str(threads)}
        assert record["execution"]["threads"] == threads
    assert seen(one)["cpu_seconds_per_second"] < 1.1
    assert seen(two)["threads"] == seen(one)["threads"] + 1


@pytest.mark.parametrize("cpu", [CPUS[0], CPUS[-1]])
def test_affinity_binds_the_worker(command: Command, tmp_path: Path, cpu: int) -> None:
    (record,) = with_mirror(command, tmp_path)(*MIRROR, f"--affinity={cpu}").records
    assert record["execution"]["affinity"] == [cpu]
    assert seen(record)["affinity"] == [cpu]
    assert record["execution"]["threads"] == 1


def test_without_affinity_the_worker_has_every_cpu(command: Command, tmp_path: Path) -> None:
    (record,) = with_mirror(command, tmp_path)(*MIRROR).records
    assert seen(record)["affinity"] == CPUS


def texts(value: Any) -> str:
    """Return every text of a JSON value, a line each."""
    if isinstance(value, dict):
        return "\n".join(f"{name}\n{texts(member)}" for name, member in value.items())
    return "\n".join(map(texts, value)) if isinstance(value, list) else str(value)


def someone(command: Command) -> Command:
    """The command as a user whose name is in paths that the record would hold."""
    names = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"), "gretchen")
    path = "/home/gretchen/lib"
    return Command(command.folder, {**command.environment, **names, "LD_LIBRARY_PATH": path})


def test_anonymous_leaves_host_and_user_out(command: Command, faulty: Command) -> None:
    (named,) = someone(command)(*NUMPY).records
    assert named["platform"]["host"]["name"] == socket.gethostname()
    assert "gretchen" in texts(named)
    (record,) = someone(command)(*NUMPY, "--anonymous").records
    assert record["platform"]["host"] == {"anonymous": True}
    assert record["execution"]["environment_variables"]["LD_LIBRARY_PATH"] == "/home/<user>/lib"
    assert "gretchen" not in texts(record)
    assert socket.gethostname() not in texts(record).split()
    assert "--anonymous" in record["command"]


def test_anonymous_holds_for_what_a_failed_run_printed(faulty: Command) -> None:
    folder = faulty.folder / "gretchen"
    folder.mkdir()
    (Path(faulty.environment["PYTHONPATH"].split(os.pathsep)[0])).rename(folder / "faulty")
    moved = Command(faulty.folder, faulty.environment).with_path(folder / "faulty")
    run = ("--framework=faulty", *QUICK, "--set=fault=exception")
    (named,) = someone(moved)(*run).records
    assert "gretchen" in named["error"]["log_tail"]
    (record,) = someone(moved)(*run, "--anonymous").records
    assert "the plugin's own mistake" in record["error"]["log_tail"]
    assert "gretchen" not in texts(record)
    assert "gretchen" not in (faulty.folder / "results" / record["log"]).read_text()


MANY_OPTIONS = (
    "--framework=numpy",
    "--problem=conv2d",
    "--mode=training",
    "--batch_size=3",
    "--precision=fp64",
    "--optimizer=momentum",
    "--learning-rate=0.003",
    "--set=channels=4",
    "--set=conv2d.filters=6",
    "--set=height=9",
    "--set=width=7",
    "--set=kernel=2",
    "--set=padding=0",
    "--set=groups=2",
    "--set=bias=false",
    "--seed=7",
    "--threads=1",
    f"--affinity={CPUS[-1]}",
    "--problem-size=12",
    "--epochs=2",
    "--warmup=2",
    "--sampling=latency",
    "--breakdown",
    "--price-per-hour=2.5",
    "--timeout=100",
    "--env=current",
    "--anonymous",
)


@pytest.mark.parametrize(
    "options",
    [
        MANY_OPTIONS,
        ("--framework=numpy", "--problem=vgg16", "--mode=inference", "--set=image_size=32", "--set=hidden=16",
         "--set=dropout=0.25", "--batch-size=1", "--steps=2", "--no-verify", "--seed=4294967295"),
        ("--framework=numpy", "--problem=lstm_imdb", "--set=words=3", "--set=units=4", "--optimizer=sgd"),
    ],
    ids=["many options", "inference", "defaults"],
)  # fmt: skip
def test_the_records_own_command_repeats_the_run(command: Command, options: tuple[str, ...]) -> None:
    (first,) = command(*options, "--json").records
    assert first["command"][:4] == ["python", "-m", "benchmarker", "run"]
    finished = command(*first["command"][3:], "--json")
    assert finished.status == 0, finished.stderr
    (again,) = finished.records
    assert {name: again[name] for name in SAME} == {name: first[name] for name in SAME}
    of_the_process = {name: again["execution"][name] for name in ("worker_seconds", "process")}
    assert again["execution"] == {**first["execution"], **of_the_process}
    assert again["comparable"] == first["comparable"]
    assert again["framework"]["options"] == first["framework"]["options"]
    assert again["framework"]["full"] == first["framework"]["full"]
    assert again["verification"]["status"] == first["verification"]["status"]
    assert again["metrics"]["loss_first"] == first["metrics"]["loss_first"]
    if first["execution"]["steps_requested"]:
        assert again["timing"]["steps"] == first["execution"]["steps_requested"]


def test_many_options_reach_the_run(command: Command) -> None:
    (record,) = command(*MANY_OPTIONS, "--json").records
    assert record["execution"]["steps_requested"] == record["timing"]["steps"] == 8
    assert (record["timing"]["sampling"], record["timing"]["block_steps"]) == ("latency", 1)
    assert len(record["timing"]["samples_seconds"]) == 8
    assert {"data", "update", "synchronisation"} <= set(record["timing"]["breakdown"]["parts"])
    assert record["metrics"]["cost_of_run"] > 0
    assert "--price-per-hour=2.5" in record["command"]
    assert record["timing"]["warmup_steps"] == 2
    assert record["optimizer"]["kind"] == "momentum"
    assert record["optimizer"]["learning_rate"] == 0.003
    assert record["problem"]["parameters"]["bias"] is False
    assert record["problem"]["parameters"]["groups"] == 2
    assert (record["precision"], record["batch_size"], record["seed"]) == ("fp64", 3, 7)
    assert record["execution"]["timeout_seconds"] == 100
    assert record["environment"]["kind"] == "current"
    build = PythonBuild(record["environment"]["build"], record["environment"]["profile_guided"])
    assert build == python_build()
    assert 0 < record["trust"]["speed"]["interpreter_seconds"] < 0.1
