"""``--data`` and ``--inputs``: real runs on the digits and on small files in the true formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.data.test_datasets import write_mnist
from tests.support.command_lines import replaced

pytestmark = pytest.mark.framework("numpy")

DIGITS = (
    "--framework=numpy",
    "--problem=mnist_mlp",
    "--data=digits",
    "--set=inputs=64",
    "--batch-size=32",
    "--json",
)


def run(command: Command, *options: str) -> dict[str, Any]:
    finished = command(*DIGITS, *options)
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    return record


def test_training_on_the_digits_learns_them(command: Command) -> None:
    record = run(command, "--epochs=5", "--optimizer=adam", "--learning-rate=0.002")
    assert record["verification"]["status"] == "passed"
    assert record["timing"]["steps"] == 5 * (1797 // 32)
    assert record["metrics"]["loss_last"] < 0.5 * record["metrics"]["loss_first"]
    assert record["metrics"]["accuracy"] > 0.9
    inputs = record["inputs"]
    assert inputs["kind"] == "resident"
    assert inputs["distinct_batches"] == 1797 // 32
    assert inputs["data"]["name"] == "digits"
    assert inputs["data"]["samples"] == 1797


def test_one_epoch_of_the_digits_is_each_whole_mini_batch_once(command: Command) -> None:
    record = run(command, "--epochs=1", "--warmup=0")
    assert record["timing"]["steps"] == record["execution"]["steps_requested"] == 1797 // 32
    assert record["timing"]["warmup_steps"] == 0
    assert record["inputs"]["distinct_batches"] == 1797 // 32
    computed = record["metrics"]["throughput"] * record["timing"]["total_seconds"]
    assert computed == pytest.approx(1797 // 32 * 32)


def test_the_weights_of_inference_classify_the_data_set(command: Command) -> None:
    record = run(command, "--mode=inference", "--steps=3")
    assert 0 < record["metrics"]["accuracy"] < 0.5  # weights as drawn, ten classes


SLOW = """
import time

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram


class Program(NumpyProgram):
    def train_step(self, batch):
        time.sleep(0.05)
        return super().train_step(batch)


class Framework(NumpyFramework):
    def build(self, *arguments, **options):
        program = super().build(*arguments, **options)
        program.__class__ = Program
        return program


def benchmarker_framework():
    return FrameworkPlugin("slow", "numpy", ("numpy",), "slow_framework:Framework")
"""


@pytest.mark.parametrize("amount", ["--steps=30", "--epochs=1"])
def test_a_stated_number_of_steps_trains_the_same_on_a_slow_machine_as_on_a_fast_one(
    command: Command, distribution: Callable[..., Path], amount: str
) -> None:
    folder = distribution("slow", {"frameworks": ["slow = slow_framework"]}, {"slow_framework": SLOW})
    finished = command.with_path(folder)(*replaced(DIGITS, amount, "--framework=numpy,slow"), "--repeats=2")
    assert finished.status == 0, finished.stderr
    records = finished.records
    assert sorted(record["framework"]["name"] for record in records) == ["numpy", "numpy", "slow", "slow"]
    assert {record["timing"]["warmup_steps"] for record in records} == {3}
    for name in ("loss_first", "loss_last", "accuracy"):
        assert len({record["metrics"][name] for record in records}) == 1, name
    assert len({json.dumps(record["inputs"]) for record in records}) == 1


def test_fed_steps_take_the_same_mini_batches_in_the_same_order(command: Command) -> None:
    amount = ("--steps=40", "--warmup=5")
    resident, fed = run(command, *amount), run(command, *amount, "--inputs=fed")
    assert fed["inputs"]["kind"] == "fed"
    assert fed["inputs"]["epoch_order_digests"] == resident["inputs"]["epoch_order_digests"]
    assert len(fed["inputs"]["epoch_order_digests"]) == 1
    assert fed["digests"] == resident["digests"]
    assert fed["metrics"]["loss_last"] == resident["metrics"]["loss_last"]
    assert fed["metrics"]["accuracy"] == resident["metrics"]["accuracy"]


def test_the_seed_decides_the_order(command: Command) -> None:
    first, other = run(command, "--steps=3"), run(command, "--steps=3", "--seed=7")
    assert first["inputs"]["epoch_order_digests"] != other["inputs"]["epoch_order_digests"]
    assert first["digests"]["batch"] != other["digests"]["batch"]


def test_drawn_mini_batches_can_be_fed_too(command: Command) -> None:
    options = ("--framework=numpy", "--problem=mnist_mlp", "--inputs=fed", "--steps=5", "--json")
    (record,) = command(*options).records
    assert record["status"] == "ok"
    assert record["inputs"] == {
        "kind": "fed",
        "distinct_batches": 8,
        "resident_bytes": 0,
        "epoch_order_digests": [],
        "data": None,
    }
    assert record["metrics"]["accuracy"] is None


def test_inference_takes_the_samples_alone(command: Command) -> None:
    record = run(command, "--mode=inference", "--steps=5")
    assert record["verification"]["status"] == "passed"
    assert record["inputs"]["data"]["name"] == "digits"


def test_mnist_files_are_read_from_their_folder(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    write_mnist(tmp_path / "mnist", 40, packed=True)
    options = (
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--data=mnist",
        "--batch-size=8",
        "--steps=4",
        "--json",
    )
    finished = command(*options, f"--data-dir={tmp_path / 'mnist'}")
    (record,) = finished.records
    assert record["status"] == "ok", record["error"]
    files = record["inputs"]["data"]["files"]
    assert [file["published"] for file in files] == [False, False]
    assert f"--data-dir={tmp_path / 'mnist'}" in record["command"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--set=inputs=784",),
            "samples of shape (1, 8, 8), but problem 'mnist_mlp' takes 'image' of (784,)",
        ),
        (("--set=classes=3",), "has 10 classes, but problem 'mnist_mlp' has 3"),
        (("--batch-size=2000",), "has 1797 samples, too few for a mini-batch of 2000"),
        (("--data-dir=none", "--data=cifar10"), "--data-dir must be a folder with data_batch_1.bin"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    command: Command, options: tuple[str, ...], message: str
) -> None:
    chosen = replaced(DIGITS, *options)
    if options[0].startswith("--set=classes"):
        chosen.append("--set=inputs=64")
    finished = command(*chosen)
    assert finished.status == 2
    assert message in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert not (command.folder / "results").exists() or not any((command.folder / "results").glob("*.json"))


def test_a_problem_with_other_inputs_is_refused(command: Command) -> None:
    finished = command("--framework=numpy", "--problem=ncf", "--data=digits")
    assert finished.status == 2
    assert "run it on synthetic data, without --data" in finished.stderr


def test_a_threshold_of_accuracy_is_judged(command: Command) -> None:
    finished = command(*DIGITS, "--steps=2", "--accept=min_accuracy=0.99")
    assert finished.status == 1
    (record,) = finished.records
    assert record["acceptance"]["status"] == "failed"
