"""The recipes of data that their users bring, for a few steps on small files in the true formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.experiment.blueprint.loading import load
from benchmarker.records.schema import validate
from tests.conftest import Command
from tests.data.test_datasets import idx

BROUGHT = ("mnist_mlp", "mnist_lenet", "cifar10_vgg", "imdb_lstm", "resnet50_imagenet")
GENERATOR = np.random.default_rng(11)
STEPS = 4


def write_mnist(folder: Path) -> None:
    for part, count in (("train", 300), ("t10k", 40)):
        images = GENERATOR.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx((np.arange(count) % 10).astype(np.uint8)))


def write_cifar10(folder: Path) -> None:
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        pixels = GENERATOR.integers(0, 256, (40, 3 * 32 * 32)).astype(np.uint8)
        table = np.concatenate([(np.arange(40, dtype=np.uint8) % 10)[:, None], pixels], axis=1)
        (folder / f"{name}.bin").write_bytes(table.tobytes())


def write_imdb(folder: Path) -> None:
    words = [f"word{number}" for number in range(50)]
    for part, count in (("train", 80), ("test", 10)):
        for name in ("neg", "pos"):
            target = folder / "aclImdb" / part / name
            target.mkdir(parents=True)
            for number in range(count):
                (target / f"{number}_1.txt").write_text(" ".join(GENERATOR.choice(words, 60)))
    lines = [f"{word} {' '.join(f'{value:.3f}' for value in GENERATOR.normal(size=50))}" for word in words]
    (folder / "glove.6B.50d.txt").write_text("\n".join(lines) + "\n")


def write_imagenet(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for part, count in (("train", 6), ("val", 2)):
        for name in ("n01440764", "n01443537"):
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                pixels = GENERATOR.integers(0, 256, (270, 300, 3)).astype(np.uint8)
                image.fromarray(pixels).save(folder / part / name / f"{name}_{number}.JPEG")


def trained(
    command: Command, name: str, write: Callable[[Path], None], *more: str, file: Path | None = None
) -> dict[str, Any]:
    """The record of a few steps of a recipe, or of what a file has made of it."""
    folder = command.folder / "data"
    folder.mkdir()
    write(folder)
    finished = command(
        "train",
        str(file or name),
        f"--data-dir={folder}",
        f"--max-steps={STEPS}",
        "--threads=1",
        "--json",
        *more,
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert validate(record) == []
    assert record["status"] == "ok", record["error"]
    training = record["training"]
    assert (training["outcome"], training["steps"]) == ("steps", STEPS)
    assert training["recipe"]["name"] == name
    assert record["verification"]["after_timing"]["status"] == "passed", record["verification"]["reason"]
    return record


@pytest.mark.parametrize("name", ["mnist_mlp", "mnist_lenet"])
def test_recipes_of_mnist_train(name: str, command: Command) -> None:
    record = trained(command, name, write_mnist, "--framework=numpy", "--env=current")
    training = record["training"]
    assert training["split_samples"] == {"train": 300, "validation": 0, "test": 40}
    assert training["evaluated_samples"] == 40
    assert f"--max-steps={STEPS}" in record["command"]


@pytest.mark.framework("pytorch")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "write"), [("cifar10_vgg", write_cifar10), ("imdb_lstm", write_imdb)])
def test_the_recipes_of_cifar10_and_imdb_train(
    name: str, write: Callable[[Path], None], command: Command, cache_home: Path
) -> None:
    # Of fewer samples, as the proof of a step computes it in float64.
    text = registry.recipe(name).file.read_text(encoding="utf-8")
    file = command.folder / f"{name}.toml"
    file.write_text(re.sub(r"^batch_size = \d+$", "batch_size = 8", text, flags=re.MULTILINE))
    record = trained(command, name, write, "--framework=pytorch", file=file)
    assert record["batch_size"] == 8
    assert record["training"]["split_samples"]["train"] in (160, 200)


@pytest.mark.framework("pytorch")
@pytest.mark.timeout(600)
def test_the_recipe_of_imagenet_trains(command: Command, cache_home: Path) -> None:
    more = ("--framework=pytorch", "--batch-size=4", "--learning-rate=0.0015625")
    record = trained(command, "resnet50_imagenet", write_imagenet, *more)
    assert record["optimizer"]["decay_of"] == "*conv*.weight classifier.*"
    assert record["training"]["split_samples"] == {"train": 12, "validation": 0, "test": 4}


@pytest.mark.parametrize("name", BROUGHT)
def test_without_its_files_a_sentence_says_which_must_be_where(name: str, command: Command) -> None:
    finished = command("train", name, "--framework=numpy")
    assert finished.status == 2
    assert "is read from files: give their folder, which holds" in finished.stderr
    assert "--data-dir" in finished.stderr


@pytest.mark.parametrize("name", BROUGHT)
def test_its_target_is_a_published_one_and_said_so(name: str) -> None:
    described = registry.recipe(name)
    assert described.reference_runs is None
    assert "a published target, no reference runs" in described.description
    text = described.file.read_text(encoding="utf-8")
    assert "# Target: " in text.replace("\n# ", " ").replace(". Target: ", ". # Target: ")
    assert load(described.file).values["training"].target.metric == "accuracy"
