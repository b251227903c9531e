"""Trainings that are killed go on from their checkpoints; what cannot be gone on from is told, and nothing is lost."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker.records.schema import validate
from benchmarker.training import checkpoint
from tests.conftest import Command, Finished
from tests.support.small_disks import small_disk

RECIPE = """\
data = "digits"
batch_size = 64
optimizer = { kind = "adam", learning_rate = 0.01 }
[problem]
layers = [
    { layer = "InputLayer", shape = [64] },
    { layer = "FullyConnected", size = 16, activation = "relu" },
    { layer = "FullyConnected", size = 10 },
]
[training]
target = { metric = "accuracy", value = 0.999 }
limits = { epochs = 6 }
evaluate_every = 704
[training.schedules.learning_rate]
kind = "cosine"
warmup = 10
"""
STEPS, EVERY = 132, 11
"""Of the whole training, and between two evaluations."""
DOOMED = """\
import os, signal, time
from pathlib import Path
from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import MeasuredNumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram

ACT = Path(__file__).with_name("act")

class Program(NumpyProgram):
    made = 0

    def restore(self, state):
        super().restore(state)
        self.made = state.steps

    def train_step(self, batch):
        loss = super().train_step(batch)
        self.made += 1
        if ACT.exists():
            who, step = ACT.read_text().split()
            if self.made == int(step):
                ACT.unlink()
                os.kill(os.getpid() if who == "worker" else os.getppid(), signal.SIGKILL)
                time.sleep(300)  # until the lifeline ends what has lost its command
        return loss

class Doomed(MeasuredNumpyFramework):
    def build(self, *arguments, **keywords):
        program = super().build(*arguments, **keywords)
        program.__class__ = Program
        return program

def benchmarker_framework():
    return FrameworkPlugin("doomed", "numpy", ("numpy",), "doomed_framework:Doomed",
                           precisions={"cpu": ("fp32", "fp64")})
"""
"""NumPy, killed at a step: the worker or the whole command, as a file says that goes with it."""


class Doomed:
    """The command with the framework ``doomed``, and what its trainings gave."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command = command.with_path(folder)
        self.folder = command.folder
        self._act = folder / "act"
        (self.folder / "small.toml").write_text(RECIPE)

    def arguments(self, results: str, *more: str, framework: str = "doomed") -> tuple[str, ...]:
        where = (
            f"--framework={framework}",
            "--env=current",
            "--threads=1",
            f"--results={results}",
            "--seed=5",
        )
        return ("train", "small.toml", *where, "--json", *more)

    def train(self, results: str, *more: str, framework: str = "doomed") -> Finished:
        return self.command(*self.arguments(results, *more, framework=framework))

    def dies(self, who: str, step: int) -> None:
        self._act.write_text(f"{who} {step}")

    def checkpoints(self, results: str) -> list[Path]:
        return sorted((self.folder / results / "checkpoints").rglob("*.safetensors"))


@pytest.fixture
def doomed(command: Command, distribution: Callable[..., Path]) -> Doomed:
    modules = {"doomed_framework": DOOMED}
    return Doomed(command, distribution("doomed", {"frameworks": ["doomed = doomed_framework"]}, modules))


def course(record: dict[str, Any]) -> dict[str, Any]:
    """What of a training must be the same, bit for bit, however often it was killed."""
    training = record["training"]
    curve = {name: values for name, values in training["curve"].items() if not name.endswith("_seconds")}
    names = ("outcome", "steps", "best", "last", "digests", "classes", "final")
    return {"curve": curve, **{name: training[name] for name in names}}


def only(finished: Finished) -> dict[str, Any]:
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert validate(record) == []
    return record


@pytest.mark.framework("numpy")
@pytest.mark.parametrize("who", ["worker", "command"])
def test_a_killed_training_goes_on_to_the_same_end(who: str, doomed: Doomed) -> None:
    whole = only(doomed.train("whole"))
    assert whole["training"]["steps"] == STEPS
    assert whole["training"]["checkpoints"] is None
    doomed.dies(who, 3 * EVERY + 4)
    if who == "worker":
        killed = doomed.train("results", "--checkpoint-every=1")
        assert killed.status == 1
        assert killed.records[0]["status"] == "crashed"
    else:
        process = doomed.command.start(*doomed.arguments("results", "--checkpoint-every=1"))
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL
        assert not list((doomed.folder / "results").glob("*.json"))
    assert [path.name for path in doomed.checkpoints("results")] == [
        f"step-{step:09d}.safetensors" for step in (2 * EVERY, 3 * EVERY)
    ]
    left = doomed.checkpoints("results")[0].with_name(".step-000000044.safetensors.0123456789abcdef")
    left.write_bytes(b"half")
    again = doomed.train("results", "--resume", "--checkpoint-every=4")
    record = only(again)
    assert not left.exists()
    assert course(record) == course(whole)
    assert f"continues from step {3 * EVERY}" in again.stderr
    (resumed,) = record["training"]["checkpoints"]["resumed"]
    assert (resumed["step"], resumed["framework"], resumed["native"]) == (3 * EVERY, "doomed", True)
    assert resumed["not_restored"] is None
    assert resumed["lost_steps"] == 0  # of what evaluations had told
    assert resumed["training_seconds"] > 0
    assert record["training"]["training_seconds"] > resumed["training_seconds"]
    assert record["training"]["first_step_seconds"] > resumed["first_step_seconds"]
    assert record["verification"]["after_timing"]["status"] == "passed"


@pytest.mark.framework("numpy")
def test_run_goes_on_by_its_own_options(doomed: Doomed) -> None:
    whole = only(doomed.train("whole"))
    _, _, *more = doomed.arguments("results", "--checkpoints=kept")
    arguments = ("run", "--recipe=small.toml", *more)
    doomed.dies("command", 3 * EVERY + 4)
    process = doomed.command.start(*arguments, "--checkpoint-every=1")
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    again = doomed.command(*arguments, "--resume")
    assert course(only(again)) == course(whole)
    assert f"continues from step {3 * EVERY} ('kept/" in again.stderr
    (last,) = doomed.command(*arguments, "--resume", "--dry-run").records
    assert last["record"] is not None
    (*_, path) = sorted((doomed.folder / "kept").rglob("*.safetensors"))
    _, _, *more = doomed.arguments("other", f"--resume-from={path}")
    from_file = only(doomed.command("run", "--recipe=small.toml", *more))
    assert from_file["training"]["checkpoints"]["resumed"][0]["step"] == 3 * EVERY


IN_PYTHON = """\
import json, sys, benchmarker
options = json.loads(sys.argv[1])
found = benchmarker.run(recipe="small.toml", framework="doomed", env="current", threads=1, seed=5, **options)
print(json.dumps(list(found)))
"""


@pytest.mark.framework("numpy")
def test_a_training_that_python_asked_for_goes_on(doomed: Doomed) -> None:
    def run(**options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", IN_PYTHON, json.dumps(options)]
        where: dict[str, Any] = {"cwd": doomed.folder, "env": doomed.command.environment}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **where)

    whole = only(doomed.train("whole"))
    doomed.dies("command", 3 * EVERY + 4)
    assert run(checkpoint_every=1).returncode == -signal.SIGKILL
    again = run(checkpoint_every=1, resume=True)
    assert again.returncode == 0, again.stderr
    (record,) = json.loads(again.stdout)
    assert course(record) == course(whole)
    assert record["training"]["checkpoints"]["resumed"][0]["step"] == 3 * EVERY


@pytest.mark.framework("numpy")
def test_what_was_lost_is_told_and_a_training_is_killed_more_than_once(doomed: Doomed) -> None:
    whole = only(doomed.train("whole"))
    every = "--checkpoint-every=3"
    doomed.dies("worker", 5 * EVERY + 2)
    assert doomed.train("results", every).status == 1
    doomed.dies("worker", 8 * EVERY + 1)
    assert doomed.train("results", every, "--resume").status == 1
    record = only(doomed.train("results", every, "--resume"))
    assert course(record) == course(whole)
    first, second = record["training"]["checkpoints"]["resumed"]
    assert [first["step"], second["step"]] == [3 * EVERY, 6 * EVERY]
    assert [first["lost_steps"], second["lost_steps"]] == [2 * EVERY, 2 * EVERY]
    assert first["lost_seconds"] > 0
    told = record["training"]["checkpoints"]
    told["resumed"] = [second, {**first, "training_seconds": 1e6}]
    told["failed"] = 1
    assert {fault.path for fault in validate(record)} == {
        "$.training.checkpoints.resumed",
        "$.training.checkpoints.resumed[1]",
        "$.training.checkpoints.reason",
    }
    last = only(doomed.train("results", "--resume", "--seed=6"))
    assert last["training"]["checkpoints"] is None


@pytest.mark.framework("numpy")
def test_another_framework_goes_on(doomed: Doomed) -> None:
    """NumPy itself is another framework to the plug-in, though it computes the same."""
    whole = only(doomed.train("whole", "--checkpoint-every=5"))
    first = doomed.checkpoints("whole")[0]
    record = only(doomed.train("other", f"--resume-from={first}", framework="numpy"))
    (resumed,) = record["training"]["checkpoints"]["resumed"]
    assert (resumed["framework"], resumed["native"]) == ("doomed", False)
    assert "generators" in resumed["not_restored"]
    assert course(record)["curve"]["correct"] == course(whole)["curve"]["correct"]


@pytest.mark.framework("numpy")
def test_without_a_checkpoint_it_begins_anew_and_says_so(doomed: Doomed) -> None:
    finished = doomed.train("results", "--resume")
    assert (
        "1 of 1 trainings have no checkpoint in results/checkpoints and start from the beginning"
        in finished.stderr
    )
    assert only(finished)["training"]["checkpoints"] is None


# --- what cannot be gone on from ------------------------------------------------------------------


@pytest.fixture
def written(doomed: Doomed) -> Doomed:
    """A training that was killed, with two checkpoints."""
    doomed.dies("worker", 3 * EVERY + 1)
    assert doomed.train("results", "--checkpoint-every=1").status == 1
    return doomed


def assert_refused(finished: Finished, sentence: str) -> None:
    assert finished.status == 2
    assert finished.stdout == ""
    (line,) = finished.stderr.splitlines()
    assert re.search(sentence, line), line


@pytest.mark.framework("numpy")
def test_a_damaged_checkpoint_is_passed_over_for_an_earlier_one(written: Doomed) -> None:
    earlier, last = written.checkpoints("results")
    last.write_bytes(last.read_bytes()[:-100])
    again = written.train("results", "--resume")
    assert "is cut short; continue from an earlier one; an earlier one is used" in again.stderr
    assert only(again)["training"]["checkpoints"]["resumed"][0]["step"] == 2 * EVERY
    assert earlier.exists()


@pytest.mark.framework("numpy")
def test_where_no_checkpoint_is_whole_nothing_is_begun_anew(written: Doomed) -> None:
    files = written.checkpoints("results")
    for path in files:
        path.write_bytes(path.read_bytes()[:-1])
    before = {path: path.read_bytes() for path in files}
    assert_refused(written.train("results", f"--resume-from={files[-1]}"), "is cut short")
    refused = written.train("results", "--resume", "--checkpoint-every=1")
    assert_refused(
        refused, "is cut short; .* there is no earlier one: leave out --resume to start from the beginning"
    )
    assert {path: path.read_bytes() for path in written.checkpoints("results")} == before


@pytest.mark.framework("numpy")
def test_a_checkpoint_of_another_training_is_refused(written: Doomed) -> None:
    (*_, last) = written.checkpoints("results")
    start = f"--resume-from={last}"
    recipe = written.folder / "small.toml"
    assert_refused(written.train("a", start, "--seed=6"), "has seed 5, but this training has seed 6")
    recipe.write_text(RECIPE.replace("warmup = 10", "warmup = 11"))
    assert_refused(written.train("a", start), "is of recipe 'small' as it was before it was changed")
    recipe.write_text(RECIPE.replace("size = 16", "size = 17"))
    assert_refused(
        written.train("a", start), r"is of a different model: it has \(.*16.*, but this training has \(.*17"
    )
    recipe.write_text(RECIPE)
    assert_refused(
        written.train("a", "--resume-from=absent.safetensors"), "cannot be read .No such file or directory"
    )
    assert_refused(written.train("a", start, "--resume"), "give either resume")
    assert_refused(written.train("a", "--checkpoints=kept"), "'kept' is not used: give checkpoint_every")
    assert not (written.folder / "a").exists()
    assert last.exists()


@pytest.mark.framework("numpy")
def test_data_that_changed_since_is_told(written: Doomed) -> None:
    (*_, last) = written.checkpoints("results")
    found = checkpoint.read(last)
    about = found.about
    changed = {**vars(about.subject), "data": f"sha256:{'0' * 64}"}
    other = written.folder / "other.safetensors"
    told = {**vars(about), "subject": checkpoint.Subject(**changed)}
    checkpoint.write(other, checkpoint.About(**told), found.state)
    assert_refused(
        written.train("a", f"--resume-from={other}"), "the data set has changed since the checkpoint"
    )


@pytest.mark.framework("numpy")
def test_files_of_data_that_change_are_refused_and_put_back_go_on(doomed: Doomed) -> None:
    """One pixel of one of the samples differs: nothing else of the training does."""
    folder = doomed.folder / "digits"
    folder.mkdir()
    labels = np.arange(640) % 10
    pixels = np.random.default_rng(3).integers(0, 256, (640, 64), np.uint8)
    pixels[np.arange(640), labels] = 255
    changed = pixels.copy()
    changed[17, 40] ^= 1
    np.save(folder / "labels.npy", labels)
    np.save(folder / "data.npy", pixels)
    (doomed.folder / "small.toml").write_text(
        RECIPE.replace('data = "digits"', 'data = "npy"').replace(
            "evaluate_every = 704", "evaluate_every = 512"
        )
    )
    files = f"--data-dir={folder}"
    whole = only(doomed.train("whole", files))
    doomed.dies("worker", 20)
    assert doomed.train("results", files, "--checkpoint-every=1").records[0]["status"] == "crashed"
    np.save(folder / "data.npy", changed)
    (*_, last) = doomed.checkpoints("results")
    assert_refused(
        doomed.train("other", files, f"--resume-from={last}"), "the data set has changed since the checkpoint"
    )
    np.save(folder / "data.npy", pixels)
    assert course(only(doomed.train("results", files, "--resume"))) == course(whole)


@pytest.mark.framework("numpy")
def test_a_full_disk_costs_the_checkpoint_alone(doomed: Doomed) -> None:
    with small_disk(doomed.folder / "disk", "16k") as disk:
        whole = only(doomed.train("whole"))
        record = only(doomed.train("results", "--checkpoint-every=1", f"--checkpoints={disk}"))
        told = record["training"]["checkpoints"]
        assert (told["failed"] > 0, told["reason"]) == (True, "No space left on device")
        left = [path for path in disk.rglob("*") if path.is_file()]
        for path in left:
            if path.suffix == ".safetensors":
                checkpoint.read(path)
        assert not [path for path in left if path.name.startswith(".step")]
    assert course(record) == course(whole)


# --- with the frameworks --------------------------------------------------------------------------

TRAINED = (
    "pytorch",
    "tensorflow",
    "jax",
    "mxnet",
    "chainer",
    "paddle",
    "tinygrad",
    "keras_tensorflow",
    "keras_jax",
    "keras_pytorch",
)


def train_digits(command: Command, framework: str, results: str, *more: str) -> dict[str, Any]:
    where = (f"--framework={framework}", "--threads=1", "--seed=5", f"--results={results}", "--no-early-stop")
    return only(command("train", "digits_mlp", *where, "--json", *more, timeout=280))


@pytest.mark.framework
@pytest.mark.parametrize("framework", TRAINED)
def test_a_framework_goes_on_bit_for_bit(framework: str, command: Command) -> None:
    whole = train_digits(command, framework, "whole", "--checkpoint-every=4")
    first = sorted((command.folder / "whole").rglob("*.safetensors"))[0]
    again = train_digits(command, framework, "again", f"--resume-from={first}")
    assert again["training"]["checkpoints"]["resumed"][0]["native"]
    assert course(again) == course(whole)


DROPPED = """\
data = "digits"
batch_size = 64
optimizer = { kind = "adam", learning_rate = 0.01 }
[problem]
layers = [
    { layer = "InputLayer", shape = [64] },
    { layer = "FullyConnected", size = 32, activation = "relu" },
    { layer = "Dropout", ratio = 0.3 },
    { layer = "FullyConnected", size = 10 },
]
[training]
target = { metric = "accuracy", value = 1.0 }
limits = { steps = 6000 }
evaluate_every = 19200
"""


@pytest.mark.framework
@pytest.mark.timeout(300)
def test_masks_of_dropout_are_those_that_would_have_followed(command: Command) -> None:
    """TensorFlow is killed in the midst, by SIGKILL, and goes on with the generator as it was."""
    (command.folder / "drop.toml").write_text(DROPPED)
    where = ("--framework=tensorflow", "--threads=1", "--seed=5", "--json", "--no-early-stop")
    whole = only(command("train", "drop.toml", *where, "--results=whole"))
    arguments = ("train", "drop.toml", *where, "--results=killed", "--checkpoint-every=1")
    process = command.start(*arguments)
    while process.poll() is None and not list((command.folder / "killed").rglob("*.safetensors")):
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    record = only(command(*arguments, "--resume"))
    (resumed,) = record["training"]["checkpoints"]["resumed"]
    assert resumed["not_restored"] is None
    assert course(record) == course(whole)


@pytest.mark.framework
@pytest.mark.parametrize(
    ("writer", "reader"), [("pytorch", "jax"), ("chainer", "tensorflow"), ("mxnet", "numpy")]
)
def test_another_framework_reaches_the_same(writer: str, reader: str, command: Command) -> None:
    whole = train_digits(command, writer, "whole", "--checkpoint-every=20")
    first = sorted((command.folder / "whole").rglob("*.safetensors"))[0]
    again = train_digits(command, reader, "again", f"--resume-from={first}")
    (resumed,) = again["training"]["checkpoints"]["resumed"]
    assert (resumed["framework"], resumed["native"]) == (writer, False)
    curves = [record["training"]["curve"]["correct"] for record in (whole, again)]
    assert max(abs(a - b) for a, b in zip(*curves)) <= 2
    assert again["training"]["reached"] == whole["training"]["reached"]


ROWS = """\
data = "digits"
batch_size = 64
optimizer = { kind = "lamb", learning_rate = 0.02, weight_decay = 0.01 }
[problem]
layers = [
    { layer = "InputLayer", shape = [8, 8] },
    { layer = "LSTM", size = 24, bidirectional = true },
    { layer = "FullyConnected", size = 10 },
]
[training]
target = { metric = "accuracy", value = 1.0 }
limits = { epochs = 6 }
"""


@pytest.mark.framework
@pytest.mark.parametrize(("writer", "reader"), [("pytorch", "mxnet"), ("mxnet", "chainer")])
def test_norms_and_state_of_recurrent_layers_are_those_of_parameters(
    writer: str, reader: str, command: Command
) -> None:
    """Each framework keeps gates, biases and directions in tensors of its own, of which LAMB must see nothing."""
    (command.folder / "rows.toml").write_text(ROWS)

    def trained(framework: str, results: str, *more: str) -> dict[str, Any]:
        where = (
            f"--framework={framework}",
            "--threads=1",
            "--seed=5",
            f"--results={results}",
            "--no-early-stop",
        )
        return only(command("train", "rows.toml", *where, "--json", *more, timeout=280))

    whole = trained(writer, "whole", "--checkpoint-every=1")
    first = sorted((command.folder / "whole").rglob("*.safetensors"))[0]
    assert course(trained(writer, "again", f"--resume-from={first}")) == course(whole)
    other = trained(reader, "other", f"--resume-from={first}")
    assert not other["training"]["checkpoints"]["resumed"][0]["native"]
    curves = [record["training"]["curve"]["correct"] for record in (whole, other)]
    assert max(abs(a - b) for a, b in zip(*curves)) <= 2
