"""The command line as its user sees it: its forms, what it prints where, and its other commands."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarker import __version__
from benchmarker.cli.main import COMMANDS
from tests.conftest import Command

MLP = ("--problem=mnist_mlp", "--steps=2", "--warmup=0")
NUMPY = ("--framework=numpy", *MLP, "--batch-size=2")


def test_without_arguments_the_help_is_printed(command: Command) -> None:
    finished = command()
    assert finished.status == 0
    assert finished.stdout.startswith("usage: benchmarker [run] --framework=NAME")
    assert all(f"  {name} " in finished.stdout for name in COMMANDS)
    assert command("--help").stdout == command("-h").stdout == finished.stdout


@pytest.mark.parametrize("name", [*COMMANDS, "env list", "env create", "env remove", "env path"])
def test_every_command_tells_its_options(command: Command, name: str) -> None:
    finished = command(*name.split(), "--help")
    assert finished.status == 0
    assert finished.stdout.startswith(f"usage: benchmarker {name}")
    assert finished.stderr == ""


def test_a_reader_that_has_enough_ends_the_command_quietly(command: Command) -> None:
    process = command.start("list", "problems", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before the command has written anything
    with process.stderr:
        assert (process.wait(), process.stderr.read()) == (141, "")


def test_version(command: Command) -> None:
    assert command("--version").stdout == f"benchmarker {__version__}\n"


@pytest.mark.framework
def test_environments_of_several_frameworks_are_made_by_one_command(command: Command) -> None:
    made = command("env", "create", "numpy,jax", "pytorch", "numpy", "--quiet")
    assert (made.status, made.stderr) == (0, "")
    folders = [Path(line).parents[1].name.partition("-")[0] for line in made.stdout.splitlines()]
    assert folders == ["numpy", "jax", "pytorch"]
    told = command("env", "create", "numpy", "jax", "--quiet", "--json")
    assert [one["path"] for one in json.loads(told.stdout)] == made.stdout.splitlines()[:2]


@pytest.mark.framework("numpy")
def test_the_short_and_the_explicit_form_are_the_same(command: Command) -> None:
    (short,) = command(*NUMPY, "--json").records
    (explicit,) = command("run", *NUMPY, "--json").records
    assert short["command"] == explicit["command"]
    assert short["digests"] == explicit["digests"]


@pytest.mark.framework("numpy")
def test_hyphens_and_underscores_are_alike(command: Command) -> None:
    common = ("--framework=numpy", "--problem=mnist_mlp", "--json")
    (hyphens,) = command(
        *common, "--batch-size=2", "--problem-size=4", "--learning-rate=0.5", "--no-verify"
    ).records
    (underscores,) = command(
        *common, "--batch_size=2", "--problem_size=4", "--learning_rate=0.5", "--no_verify"
    ).records
    assert hyphens["command"] == underscores["command"]
    assert "--learning-rate=0.5" in hyphens["command"]


@pytest.mark.framework("numpy")
def test_the_earlier_tools_command_works(command: Command) -> None:
    finished = command(
        "--mode=training",
        "--framework=numpy",
        "--problem=resnet50",
        "--problem_size=8",
        "--batch_size=4",
        "--set",
        "image_size=32",
        "--set=blocks=1-1-1-1",
        "--warmup=1",
        "--no-verify",
        "--json",
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["execution"]["steps_requested"] == len(record["timing"]["samples_seconds"]) == 2
    assert record["execution"]["samples_per_epoch"] == 8
    assert record["problem"]["parameters"]["image_size"] == 32
    assert record["metrics"]["epoch_seconds"] == pytest.approx(8 / record["metrics"]["throughput"])


@pytest.mark.framework("numpy")
def test_epochs_repeat_the_problem_size(command: Command) -> None:
    (record,) = command(
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--problem_size=6",
        "--batch_size=2",
        "--epochs=3",
        "--json",
    ).records
    assert len(record["timing"]["samples_seconds"]) == 9
    assert record["metrics"]["epoch_seconds"] == pytest.approx(6 / record["metrics"]["throughput"])


@pytest.mark.framework("numpy")
def test_lists_make_the_matrix_in_order_with_a_table_at_the_end(command: Command) -> None:
    finished = command(
        "--framework=numpy",
        "--problem=mnist_mlp,conv2d",
        "--set=hidden1=8,16",
        "--set=conv2d.channels=4",
        "--set=filters=4",
        "--set=height=8",
        "--set=width=8",
        "--mode=inference,training",
        "--batch_size=2",
        "--seed=1,2",
        "--steps=7",
        "--warmup=0",
    )
    assert finished.status == 0, finished.stderr
    records = [json.loads(path.read_text()) for path in (command.folder / "results").glob("*.json")]
    records.sort(key=lambda record: record["started_at"])
    cells = [
        (
            record["problem"]["name"],
            record["problem"]["parameters"].get("hidden1"),
            record["mode"],
            record["seed"],
        )
        for record in records
    ]
    inner = list(itertools.product(("inference", "training"), (1, 2)))
    outer: list[tuple[str, int | None]] = [("mnist_mlp", 8), ("mnist_mlp", 16), ("conv2d", None)]
    assert cells == [(*first, *rest) for first in outer for rest in inner]
    assert len(re.findall(r"^ *\d+  numpy ", finished.stdout, re.MULTILINE)) == 12
    assert "95 % interval" in finished.stdout
    assert finished.stdout.endswith("12 records in results\n")


@pytest.mark.framework("numpy")
def test_json_prints_one_record_a_line_and_nothing_else(command: Command) -> None:
    finished = command("--framework=numpy", *MLP, "--batch-size=2,3", "--json")
    assert [record["batch_size"] for record in finished.records] == [2, 3]
    assert finished.stderr == ""
    (first, second) = sorted((command.folder / "results").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    assert [json.loads(first.read_text()), json.loads(second.read_text())] == finished.records


@pytest.mark.framework("numpy")
def test_progress_goes_to_standard_error_and_has_no_escape_codes(command: Command) -> None:
    finished = command(*NUMPY)
    assert "measuring" in finished.stderr
    assert "[1/1]" not in finished.stdout
    assert "\x1b" not in finished.stdout + finished.stderr
    assert "\r" not in finished.stdout + finished.stderr
    lines = finished.stderr.splitlines()
    assert not [line for line, following in itertools.pairwise(lines) if line == following]
    assert lines[-1].startswith("[1/1] numpy mnist_mlp training, batch 2, fp32: ok")


@pytest.mark.framework("numpy")
def test_quiet_shows_no_progress(command: Command) -> None:
    finished = command(*NUMPY, "--quiet")
    assert finished.stderr == ""
    assert "verification  passed" in finished.stdout


@pytest.mark.framework("numpy")
def test_the_summary_names_its_record(command: Command) -> None:
    finished = command(*NUMPY)
    (name,) = re.findall(r"record +(results/\S+\.json)", finished.stdout)
    assert json.loads((command.folder / name).read_text())["status"] == "ok"


def show(command: Command, *arguments: str) -> dict[str, Any]:
    finished = command("show", *arguments, "--json")
    assert finished.status == 0, finished.stderr
    description: dict[str, Any] = json.loads(finished.stdout)
    return description


@pytest.mark.parametrize(
    ("problem", "parameters", "gigaflops"),
    [
        ("resnet50", 25_557_032, 8.18),
        ("vgg16", 138_357_544, 30.94),
        ("mnist_mlp", 109_386, 0.000218368),
        ("conv2d", 36_928, 0.2312),
        ("lstm_imdb", 128 * 4 * (50 + 128) + 2 * 4 * 128 + 128 * 2 + 2, 0.0456),
    ],
)
def test_show_tells_parameters_and_cost(
    command: Command, problem: str, parameters: int, gigaflops: float
) -> None:
    description = show(command, problem)
    assert description["parameter_count"] == parameters
    assert description["flops_per_sample"] / 1e9 == pytest.approx(gigaflops, rel=2e-3)
    for parameter in description["parameters"].values():
        assert parameter["value"] == parameter["default"]
        assert type(parameter["value"]).__name__ == parameter["type"]
    assert sum(layer["parameter_count"] for layer in description["layers"]) == parameters


def test_show_takes_parameters(command: Command) -> None:
    description = show(command, "resnet50", "--set=image_size=64", "--set", "resnet50.classes=10")
    assert description["parameters"]["image_size"] == {"value": 64, "default": 224, "type": "int"}
    assert description["parameter_count"] == 25_557_032 - 990 * 2049
    assert description["flops_per_sample"] < show(command, "resnet50")["flops_per_sample"] / 10


def test_show_for_people_names_every_layer(command: Command) -> None:
    finished = command("show", "mnist_mlp")
    assert [name for name in ("fc1", "fc2", "fc3") if f"\n{name} " in finished.stdout] == [
        "fc1",
        "fc2",
        "fc3",
    ]
    assert "109,386" in finished.stdout


@pytest.mark.framework("numpy")
def test_validate_accepts_what_was_recorded_and_names_damage(command: Command) -> None:
    (record,) = command(*NUMPY, "--json").records
    good = command("validate")
    assert (good.status, good.stdout) == (0, "1 record: all valid\n")
    results = command.folder / "results"
    (results / "wrong.json").write_text(json.dumps({**record, "batch_size": "two", "status": "fine"}))
    (results / "cut.json").write_text(json.dumps(record)[:-20])
    bad = command("validate", "results")
    assert bad.status == 1
    assert "wrong.json: $.batch_size" in bad.stdout
    assert "wrong.json: $.status" in bad.stdout
    assert "cut.json: $ is not JSON" in bad.stdout
    assert bad.stdout.endswith("3 records: 2 with faults\n")
    listed = json.loads(command("validate", "results", "--json").stdout)
    assert {fault["path"] for fault in listed["faults"]} >= {"$.batch_size", "$.status", "$"}
    assert bad.stderr == ""


def test_a_reader_that_leaves_is_no_fault(command: Command) -> None:
    with command.start("show", "resnet50") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait(30)


@pytest.mark.framework("numpy")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [("list",), (*NUMPY, "--quiet"), (*NUMPY, "--json")])
def test_output_to_a_full_disk_is_one_sentence(command: Command, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarker", *arguments],
            cwd=command.folder,
            env=command.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "benchmarker: the output could not be written: No space left on device\n"


def test_help_of_a_command_is_its_own(command: Command) -> None:
    done = command("help", "compare")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == command("compare", "--help").stdout
    assert done.stdout.startswith("usage: benchmarker compare ")
