"""Data sets: small files in the true formats, and what is said of damaged ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import resource
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.dataset import Dataset
from benchmarker.api.optimizer import Optimizer
from benchmarker.data.batches import DatasetBatches, SyntheticBatches, mini_batches
from benchmarker.data.prepared import PreparedData, check_fits
from benchmarker.data.prepared import prepare as prepare_with
from benchmarker.data.readers.files import read_bytes
from benchmarker.data.readers.imdb import words_of
from benchmarker.data.stored import StoredData
from benchmarker.data.values import draw_batch, draw_order
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Distribution
from benchmarker.problems import conv_autoencoder, mnist_mlp
from benchmarker.problems.convolution import CONV2D
from benchmarker.worker.conformance.subject import draw_parameters, reference_program


def read_dataset(name: str, folder: Path | None) -> Dataset:
    return registry.dataset_reader(name)(folder)


def prepare(name: str, folder: Path | None) -> PreparedData:
    return prepare_with(name, registry.dataset_reader(name), folder)


GENERATOR = np.random.default_rng(5)


def idx(array: Any) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    values: bytes = array.astype(np.uint8).tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + values


def write_mnist(folder: Path, count: int = 20, packed: bool = False) -> tuple[Any, Any]:
    images = GENERATOR.integers(0, 256, (count, 28, 28)).astype(np.uint8)
    labels = (np.arange(count) % 10).astype(np.uint8)
    for name, array in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
        content = idx(array)
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content) if packed else content)
    return images, labels


def write_cifar(folder: Path, rows: int = 4) -> tuple[Any, Any]:
    images = GENERATOR.integers(0, 256, (5, rows, 3, 32, 32)).astype(np.uint8)
    labels = GENERATOR.integers(0, 10, (5, rows)).astype(np.uint8)
    for batch in range(5):
        table = np.concatenate([labels[batch][:, None], images[batch].reshape(rows, -1)], axis=1)
        (folder / f"data_batch_{batch + 1}.bin").write_bytes(table.tobytes())
    return images.reshape(-1, 3, 32, 32), labels.reshape(-1)


REVIEWS = {"neg": ["Bad, bad film!<br />Awful"], "pos": ["A good film.", "Good " * 300]}
VECTORS = {"bad": 1.0, "film": 2.0, "good": 3.0, ".": 4.0}


def write_imdb(folder: Path) -> None:
    for name, reviews in REVIEWS.items():
        (folder / "aclImdb" / "train" / name).mkdir(parents=True)
        for number, review in enumerate(reviews):
            (folder / "aclImdb" / "train" / name / f"{number}_1.txt").write_text(review)
    lines = [f"{word} {' '.join([str(value)] * 50)}" for word, value in VECTORS.items()]
    (folder / "glove.6B.50d.txt").write_text("\n".join([*lines, f"unused {' '.join(['9'] * 50)}"]) + "\n")


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_is_read_from_its_idx_files(tmp_path: Path, packed: bool) -> None:
    images, labels = write_mnist(tmp_path, packed=packed)
    found = read_dataset("mnist", tmp_path)
    assert np.array_equal(found.samples[:, 0], images)
    assert found.labels.tolist() == labels.tolist()
    assert found.labels.dtype == np.int64
    assert found.mean == pytest.approx(images.mean() / 255, abs=1e-5)
    assert found.deviation == pytest.approx(images.std() / 255, abs=1e-5)
    expected = hashlib.sha256((tmp_path / found.files[0].name).read_bytes()).hexdigest()
    assert found.files[0].sha256 == expected
    # Packed files have published checksums, which ours do not meet; of plain ones there are none.
    assert [file.published for file in found.files] == ([False, False] if packed else [None, None])


def test_cifar10_is_read_from_its_binary_files(tmp_path: Path) -> None:
    images, labels = write_cifar(tmp_path)
    found = read_dataset("cifar10", tmp_path)
    assert np.array_equal(found.samples, images)
    assert found.labels.tolist() == labels.tolist()
    assert len(found.files) == 5


def test_cifar10_is_found_in_the_folder_its_archive_makes(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-bin").mkdir()
    images, _ = write_cifar(tmp_path / "cifar-10-batches-bin")
    assert len(read_dataset("cifar10", tmp_path).samples) == len(images)


def test_imdb_reviews_become_word_vectors(tmp_path: Path) -> None:
    write_imdb(tmp_path)
    found = read_dataset("imdb", tmp_path)
    assert found.samples.shape == (3, 250, 50)
    assert found.labels.tolist() == [0, 1, 1]
    assert found.samples[0, :6, 0].tolist() == [1.0, 0.0, 1.0, 2.0, 0.0, 0.0]  # bad , bad film ! awful
    assert found.samples[1, :5, 0].tolist() == [0.0, 3.0, 2.0, 4.0, 0.0]  # filled with zeros
    assert found.samples[2, :, 0].tolist() == [3.0] * 250  # cut


def test_words_are_lower_case_and_marks_are_words() -> None:
    assert words_of("It's GOOD, no?<br /><br />Yes.") == ["it's", "good", ",", "no", "?", "yes", "."]


def test_npy_pairs_are_read(tmp_path: Path) -> None:
    samples = GENERATOR.standard_normal((6, 4))
    np.save(tmp_path / "data.npy", samples)
    np.save(tmp_path / "labels.npy", np.eye(3)[[0, 1, 2, 2, 1, 0]])
    found = read_dataset("npy", tmp_path)
    assert np.array_equal(found.samples, samples.astype(np.float32))
    assert found.labels.tolist() == [0, 1, 2, 2, 1, 0]
    assert found.classes == 3


def test_the_digits_need_no_file() -> None:
    found = read_dataset("digits", None)
    assert found.samples.shape == (1797, 1, 8, 8)
    assert sorted(set(found.labels.tolist())) == list(range(10))
    assert (found.samples.min(), found.samples.max(), found.largest) == (0, 16, 16)
    assert found.mean == pytest.approx(found.samples.mean() / 16, abs=1e-6)
    assert found.deviation == pytest.approx(found.samples.std() / 16, abs=1e-6)


# --- refusals --------------------------------------------------------------------------------------


def refusal(name: str, folder: Path | None) -> str:
    with pytest.raises(UsageError) as caught:
        read_dataset(name, folder)
    return str(caught.value)


def test_an_unknown_data_set_is_refused() -> None:
    assert refusal("mnits", None) == "unknown data set 'mnits'; did you mean 'mnist'?"


@pytest.mark.parametrize("name", ["mnist", "cifar10", "imdb", "npy"])
def test_a_missing_folder_is_named(name: str, tmp_path: Path) -> None:
    assert "--data-dir" in refusal(name, None)
    assert str(tmp_path / "none") in refusal(name, tmp_path / "none")


@pytest.mark.parametrize("name", ["mnist", "cifar10", "imdb", "npy"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    assert f"'{tmp_path}' must hold" in refusal(name, tmp_path)


def test_damaged_idx_files_are_named(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    assert "is damaged: sizes (20, 28, 28) need 15680 bytes of data, but there are 15675" in refusal(
        "mnist", tmp_path
    )
    path.write_bytes(b"\x1f\x8b" + content)
    assert "starts with 31, 139, 0, 0" in refusal("mnist", tmp_path)
    path.write_bytes(b"")
    assert "it starts with nothing" in refusal("mnist", tmp_path)
    path.write_bytes(content[:9])
    assert "ends within its header" in refusal("mnist", tmp_path)
    path.unlink()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content)[:-30])
    assert "is damaged or cannot be read" in refusal("mnist", tmp_path)


def test_images_and_labels_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(19)))
    assert "has 20 images but 19 labels" in refusal("mnist", tmp_path)


def test_a_damaged_cifar_file_is_named(tmp_path: Path) -> None:
    write_cifar(tmp_path)
    path = tmp_path / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    assert "data_batch_3.bin' is damaged: its rows have 3073 bytes each" in refusal("cifar10", tmp_path)


def test_a_damaged_vector_is_named(tmp_path: Path) -> None:
    write_imdb(tmp_path)
    path = tmp_path / "glove.6B.50d.txt"
    path.write_text("film 1 2 3\n")
    assert "line 1 of" in refusal("imdb", tmp_path)
    path.write_text(f"film {' '.join(['x'] * 50)}\n")
    assert "the vector of 'film' must be numbers" in refusal("imdb", tmp_path)


def test_a_review_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_imdb(tmp_path)
    path = tmp_path / "aclImdb" / "train" / "pos" / "2_1.txt"
    path.mkdir()
    assert refusal("imdb", tmp_path) == f"'{path}' cannot be read: Not a file"
    path.rmdir()
    os.mkfifo(path)  # of which nobody knows whether it will ever be written to
    assert refusal("imdb", tmp_path) == f"'{path}' cannot be read: Not a file"
    path.unlink()
    path.symlink_to("nowhere")
    assert refusal("imdb", tmp_path) == f"'{path}' cannot be read: No such file or directory"


def test_a_vector_that_is_not_finite_is_named(tmp_path: Path) -> None:
    write_imdb(tmp_path)
    (tmp_path / "glove.6B.50d.txt").write_text(f"film {' '.join(['nan'] * 50)}\n")
    assert "the vector of 'film' must be numbers, and finite" in refusal("imdb", tmp_path)


@pytest.mark.filterwarnings("error")
def test_mnist_without_images_is_refused(tmp_path: Path) -> None:
    for images, labels in ((np.zeros((0, 28, 28)), np.zeros(0)), (np.zeros((5, 0, 28)), np.zeros(5))):
        (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images))
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels))
        assert "data set 'mnist' must have images, got an array of shape (" in refusal("mnist", tmp_path)


def write_npy(folder: Path, samples: Any, labels: Any) -> None:
    np.save(folder / "data.npy", samples)
    np.save(folder / "labels.npy", labels)


SAMPLES = np.arange(160.0).reshape(40, 4)
CLASSES = np.arange(40) % 3
DATES = np.array(["2020-01-01"] * 40, "datetime64[D]")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        (SAMPLES, np.array(["cat"] * 40), "the labels in '{labels}' must be real numbers, got the type <U3"),
        (SAMPLES, DATES, "the labels in '{labels}' must be real numbers, got the type datetime64[D]"),
        (SAMPLES.astype(str), CLASSES, "the samples in '{samples}' must be real numbers, got the type <U32"),
        (SAMPLES + 1j, CLASSES, "the samples in '{samples}' must be real numbers, got the type complex128"),
        (
            SAMPLES,
            np.where(CLASSES, CLASSES, np.nan),
            "the labels in '{labels}' must be class numbers: whole numbers from 0 up",
        ),
        (SAMPLES, CLASSES - 1, "the labels in '{labels}' must be class numbers: whole numbers from 0 up"),
        (SAMPLES, CLASSES + 0.5, "the labels in '{labels}' must be class numbers: whole numbers from 0 up"),
        (
            SAMPLES,
            CLASSES.astype(np.uint64) + 2**63,
            "the labels in '{labels}' must be class numbers: whole numbers from 0 up",
        ),
        (
            SAMPLES,
            np.full((40, 3), 0.5),
            "each row of the labels in '{labels}' must be a single 1 among zeros",
        ),
        (SAMPLES, np.zeros((40, 3)), "each row of the labels in '{labels}' must be a single 1 among zeros"),
        (
            np.where(SAMPLES % 8 == 5, np.nan, SAMPLES),
            CLASSES,
            "the samples in '{samples}' must be finite in float32, got 20 of 40 with NaN or infinity",
        ),
        (
            np.where(SAMPLES == 5, 1e39, SAMPLES),
            CLASSES,
            "the samples in '{samples}' must be finite in float32, got 1 of 40 with NaN or infinity",
        ),
    ],
)
def test_npy_files_of_anything_but_finite_numbers_are_refused(
    tmp_path: Path, samples: Any, labels: Any, message: str
) -> None:
    write_npy(tmp_path, samples, labels)
    paths = {"samples": tmp_path / "data.npy", "labels": tmp_path / "labels.npy"}
    assert refusal("npy", tmp_path) == message.format(**paths)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("samples", "labels"),
    [
        ((40, 4), (40, 0)),
        ((40, 0), (40,)),
        ((0, 4), (0,)),
        ((40,), (40,)),
        ((40, 4), (39,)),
        ((40, 4), ()),
        ((), (40,)),
        ((40, 4), (40, 3, 1)),
    ],
)
def test_npy_files_of_other_shapes_are_refused(
    tmp_path: Path, samples: tuple[int, ...], labels: tuple[int, ...]
) -> None:
    for dtype in (np.float32, np.uint8):
        write_npy(tmp_path, np.ones(samples, dtype), np.ones(labels))
        assert refusal("npy", tmp_path).endswith(f", got {samples} and {labels}")


def test_an_archive_under_the_name_of_an_array_is_refused(tmp_path: Path) -> None:
    write_npy(tmp_path, SAMPLES, CLASSES)
    np.savez(tmp_path / "archive.npz", samples=SAMPLES)
    (tmp_path / "archive.npz").rename(tmp_path / "data.npy")
    assert refusal("npy", tmp_path) == (
        f"'{tmp_path / 'data.npy'}' is an archive of arrays (.npz); save its samples alone, with numpy.save"
    )


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "f4", "?"])
def test_class_numbers_of_every_type_are_read(tmp_path: Path, dtype: str, column: bool) -> None:
    labels = (np.arange(40) % 2).astype(dtype)
    write_npy(tmp_path, SAMPLES, labels[:, None] if column else labels)
    found = read_dataset("npy", tmp_path)
    assert found.labels.tolist() == (np.arange(40) % 2).tolist()
    assert found.labels.dtype == np.int64
    assert found.classes == 2


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "labels.npy", np.zeros(1, np.int64))
    assert refusal("npy", tmp_path) == damaged(tmp_path / "data.npy")


def damaged(path: Path) -> str:
    return f"'{path}' is not an .npy file of numbers, or is damaged; save its samples again, with numpy.save"


@pytest.mark.parametrize("content", [b"1.0,2.0\n3.0,4.0\n", b"", pickle.dumps([1.0, 2.0])])
def test_another_format_under_the_name_of_an_array_is_refused(tmp_path: Path, content: bytes) -> None:
    write_npy(tmp_path, SAMPLES, CLASSES)
    path = tmp_path / "data.npy"
    path.write_bytes(content)
    assert refusal("npy", tmp_path) == f"'{path}' is not an .npy file; save its samples with numpy.save"


@pytest.mark.parametrize("kept", [6, 8, 40, 200])
def test_an_array_that_ends_early_is_refused(tmp_path: Path, kept: int) -> None:
    write_npy(tmp_path, SAMPLES, CLASSES)
    path = tmp_path / "data.npy"
    path.write_bytes(path.read_bytes()[:kept])
    assert refusal("npy", tmp_path) == damaged(path)


def test_an_array_whose_description_is_damaged_is_refused(tmp_path: Path) -> None:
    write_npy(tmp_path, SAMPLES, CLASSES)
    path = tmp_path / "data.npy"
    path.write_bytes(path.read_bytes().replace(b")", b" ", 1))
    assert refusal("npy", tmp_path) == damaged(path)


# --- preparation and order -------------------------------------------------------------------------


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    (tmp_path / "mnist").mkdir()
    write_mnist(tmp_path / "mnist", 22)
    return prepare("mnist", tmp_path / "mnist")


def test_a_data_set_is_prepared_once(prepared: Any, tmp_path: Path) -> None:
    before = (prepared.folder / "samples.npy").stat().st_mtime_ns
    again = prepare("mnist", tmp_path / "mnist")
    assert again.folder == prepared.folder
    assert (again.folder / "samples.npy").stat().st_mtime_ns == before
    assert again.description["samples"] == 22
    assert json.loads((again.folder / "description.json").read_text()) == again.description


def test_every_epoch_has_each_sample_at_most_once_in_an_order_of_its_own(prepared: Any) -> None:
    graph = mnist_mlp.benchmarker_problem().graph(4)
    batches = DatasetBatches(prepared.folder, graph, seed=3)
    assert batches.distinct == 5
    samples = np.load(prepared.folder / "samples.npy").reshape(22, 784)
    mean, deviation = prepared.description["mean"], prepared.description["deviation"]
    normalised = ((samples.astype(np.float32) / 255) - np.float32(mean)) / np.float32(deviation)
    orders = []
    for epoch in range(2):
        found = []
        for number in range(5):
            batch = batches.batch(5 * epoch + number)
            for image, label in zip(batch["image"], batch["label"]):
                (index,) = np.flatnonzero((np.abs(normalised - image) < 1e-5).all(axis=1))
                assert index % 10 == label
                found.append(int(index))
        assert len(set(found)) == 20
        orders.append(found)
    assert orders[0] != orders[1]
    again = DatasetBatches(prepared.folder, graph, seed=3)
    assert np.array_equal(again.batch(7)["image"], batches.batch(7)["image"])
    assert not np.array_equal(
        DatasetBatches(prepared.folder, graph, seed=4).batch(0)["image"], batches.batch(0)["image"]
    )


def test_the_digest_of_each_epochs_order_is_told(prepared: Any) -> None:
    batches = DatasetBatches(prepared.folder, mnist_mlp.benchmarker_problem().graph(4), seed=3)
    epochs = batches.digests(7)["epochs"]
    assert len(epochs) == 2
    order = draw_order(3, "epoch/1", 22).astype("<i8").tobytes()
    assert epochs[1] == f"sha256:{hashlib.sha256(order).hexdigest()}"


def test_inference_is_fed_samples_only(prepared: Any) -> None:
    graph = mnist_mlp.benchmarker_problem().graph(4).without_loss()
    assert set(DatasetBatches(prepared.folder, graph, seed=3).batch(0)) == {"image"}


def test_synthetic_batches_start_with_the_one_of_a_single_batch() -> None:
    graph = mnist_mlp.benchmarker_problem().graph(4)
    batches = mini_batches(graph, 42, None)
    assert isinstance(batches, SyntheticBatches)
    first = draw_batch(graph, 42)
    assert all(np.array_equal(batches.batch(0)[name], first[name]) for name in first)
    assert not np.array_equal(batches.batch(1)["image"], first["image"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"inputs": 100}, "samples of shape (1, 28, 28), but problem 'mnist_mlp' takes 'image' of (100,)"),
        ({"classes": 5}, "has 10 classes, but problem 'mnist_mlp' has 5"),
    ],
)
def test_a_data_set_that_does_not_fit_is_refused(prepared: Any, values: dict[str, Any], message: str) -> None:
    graph = mnist_mlp.benchmarker_problem().graph(4, **values)
    with pytest.raises(UsageError) as caught:
        check_fits(prepared.description, graph)
    assert message in str(caught.value)


def test_too_large_a_mini_batch_is_refused(prepared: Any) -> None:
    with pytest.raises(UsageError, match="has 22 samples, too few for a mini-batch of 23"):
        check_fits(prepared.description, mnist_mlp.benchmarker_problem().graph(23))


def test_images_with_other_axes_are_refused_and_not_scrambled(prepared: Any) -> None:
    graph = CONV2D.graph(2, channels=28, height=1, width=28).without_loss()
    check_fits(prepared.description, graph)
    for shape in ([7, 4, 28], [28, 4, 7]):
        with pytest.raises(UsageError, match="takes 'image' of"):
            check_fits({**prepared.description, "sample_shape": shape}, graph)


# --- the range that a problem needs ----------------------------------------------------------------


def autoencoder(batch_size: int = 4, **values: Any) -> Graph:
    return conv_autoencoder.benchmarker_problem().graph(batch_size, **values)


def test_pixels_keep_to_the_interval_that_a_problem_draws_from(prepared: Any) -> None:
    graph = autoencoder()
    check_fits(prepared.description, graph)
    batches = DatasetBatches(prepared.folder, graph, seed=3)
    pixels = np.load(prepared.folder / "samples.npy")
    order = draw_order(3, "epoch/0", 22)
    found = batches.batch(0)["image"]
    assert np.array_equal(found, pixels[order[:4]].astype(np.float32) / np.float32(255))
    assert (found.min(), found.max()) == (0.0, 1.0)
    image = replace(graph.inputs[0], distribution=Distribution("uniform", 1.0))
    both_signs = DatasetBatches(prepared.folder, replace(graph, inputs=(image,)), seed=3)
    assert np.allclose(both_signs.batch(0)["image"], 2.0 * found - 1.0, atol=1e-6)


def test_the_loss_of_the_autoencoder_on_data_is_a_cross_entropy(prepared: Any) -> None:
    graph = autoencoder()
    batch = DatasetBatches(prepared.folder, graph, seed=3).batch(0)
    program = reference_program(graph, draw_parameters(graph, 42), "training", Optimizer())
    # It is not below the entropy of the pixels, which a loss of standardised ones falls under.
    target = np.clip(batch["image"].astype(np.float64), 1e-12, 1 - 1e-12)
    entropy = -(target * np.log(target) + (1 - target) * np.log(1 - target)).mean()
    loss = float(program.train_step(program.load(batch)))
    assert 0.0 < entropy <= loss < 5.0


def test_the_digits_keep_to_the_interval_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path))
    kept = prepare("digits", None)
    graph = autoencoder(1797, image_size=8)
    check_fits(kept.description, graph)
    found = DatasetBatches(kept.folder, graph, seed=3).batch(0)["image"]
    assert (found.min(), found.max()) == (0.0, 1.0)
    standardised = DatasetBatches(kept.folder, mnist_mlp.benchmarker_problem().graph(1797, inputs=64), seed=3)
    values = standardised.batch(0)["image"]
    assert float(values.mean()) == pytest.approx(0.0, abs=1e-4)
    assert float(values.std()) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.5, False), (-0.5, False)])
def test_numbers_outside_of_the_interval_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, fits: bool
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    write_npy(tmp_path, np.linspace(0.0, factor, 40 * 784).reshape(40, 28, 28), CLASSES)
    kept = prepare("npy", tmp_path)
    check_fits(kept.description, mnist_mlp.benchmarker_problem().graph(4))
    if fits:
        check_fits(kept.description, autoencoder())
        return
    low, high = sorted((0.0, factor))
    with pytest.raises(UsageError) as caught:
        check_fits(kept.description, autoencoder())
    assert str(caught.value) == (
        f"data set 'npy' has values from {low:g} to {high:g}, but problem 'conv_autoencoder' takes 'image' from 0 to "
        "1; scale them, or give pixels as uint8"
    )


def bomb(path: Path, head: bytes, megabytes: int) -> None:
    """Write a packed file that begins so and goes on with zeros."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    parts = [packer.compress(head), *(packer.compress(block) for _ in range(megabytes)), packer.flush()]
    path.write_bytes(b"".join(parts))


IDX_HEAD = bytes([0, 0, 8, 3]) + struct.pack(">3I", 10, 28, 28)
HUGE_HEAD = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**16, 2**16)
NPY_HEAD = io.BytesIO()
np.lib.format.write_array_header_1_0(NPY_HEAD, {"shape": (10, 4), "fortran_order": False, "descr": "<f4"})
HUGE_NPY = io.BytesIO()
np.lib.format.write_array_header_1_0(HUGE_NPY, {"shape": (2**40, 4), "fortran_order": False, "descr": "<f4"})


@pytest.mark.parametrize(
    ("name", "data", "head", "message"),
    [
        ("train-images-idx3-ubyte.gz", "mnist", IDX_HEAD, "more than the 7856 bytes that its header states"),
        ("train-images-idx3-ubyte.gz", "mnist", HUGE_HEAD, "more than the 2147483648 that are read"),
        ("train-images-idx3-ubyte.gz", "mnist", b"\0\0", "starts with 0, 0, 0, 0"),
        ("data.npy.gz", "npy", NPY_HEAD.getvalue(), "more than the 288 bytes that its header states"),
        ("data.npy.gz", "npy", HUGE_NPY.getvalue(), "more than the 2147483648 that are read"),
    ],
)
def test_a_packed_file_is_unpacked_no_further_than_it_says(
    tmp_path: Path, name: str, data: str, head: bytes, message: str
) -> None:
    bomb(tmp_path / name, head, 64)
    folder = tmp_path
    if data == "npy":
        np.save(tmp_path / "labels.npy", np.zeros(10, np.int64))
        folder = Path(f"{tmp_path / name},{tmp_path / 'labels.npy'}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match=message):
        read_dataset(data, folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 << 10


def test_a_packed_file_that_does_not_say_ends_at_the_limit(tmp_path: Path) -> None:
    bomb(tmp_path / "x.gz", b"", 8)
    with pytest.raises(UsageError, match="unpacks to more than 1048576 bytes"):
        read_bytes(tmp_path / "x.gz", most=1 << 20)


def test_an_array_that_claims_more_than_there_is_asks_for_no_memory(tmp_path: Path) -> None:
    (tmp_path / "data.npy").write_bytes(HUGE_NPY.getvalue() + bytes(100))
    np.save(tmp_path / "labels.npy", np.zeros(10, np.int64))
    with pytest.raises(UsageError, match="is damaged"):
        read_dataset("npy", tmp_path)


# --- published test sets ---------------------------------------------------------------------------


def test_mnists_test_set_is_read_where_it_lies_beside(tmp_path: Path) -> None:
    images, labels = write_mnist(tmp_path)
    alone = read_dataset("mnist", tmp_path)
    for name, array in (("t10k-images-idx3-ubyte", images[:7] // 2), ("t10k-labels-idx1-ubyte", labels[:7])):
        (tmp_path / name).write_bytes(idx(array))
    found = read_dataset("mnist", tmp_path)
    assert (alone.tested, found.tested, found.trained) == (0, 7, 20)
    assert np.array_equal(found.samples[:20], alone.samples)
    assert np.array_equal(found.samples[20:, 0], images[:7] // 2)
    # What is trained on is the same data set, by the same numbers.
    assert (found.digest, found.mean, found.deviation) == (alone.digest, alone.mean, alone.deviation)
    assert (alone.test_digest, len(found.files)) == (None, 4)
    assert str(found.test_digest).startswith("sha256:")


def test_half_a_test_set_is_refused(tmp_path: Path) -> None:
    images, labels = write_mnist(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(images))
    assert "must hold t10k-labels-idx1-ubyte or" in refusal("mnist", tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(images[:, :5]))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(labels))
    assert "has images of (28, 28) for training and of (5, 28) for testing" in refusal("mnist", tmp_path)


def test_the_test_sets_of_cifar10_and_imdb_are_read_where_they_lie_beside(tmp_path: Path) -> None:
    (tmp_path / "cifar").mkdir()
    images, labels = write_cifar(tmp_path / "cifar")
    rows = np.concatenate([labels[:3, None], images[:3].reshape(3, -1)], axis=1).astype(np.uint8)
    (tmp_path / "cifar" / "test_batch.bin").write_bytes(rows.tobytes())
    found = read_dataset("cifar10", tmp_path / "cifar")
    assert (found.tested, found.trained) == (3, 20)
    assert np.array_equal(found.samples[20:], images[:3])
    (tmp_path / "imdb").mkdir()
    write_imdb(tmp_path / "imdb")
    alone = read_dataset("imdb", tmp_path / "imdb")
    for name in ("neg", "pos"):
        (tmp_path / "imdb" / "aclImdb" / "test" / name).mkdir(parents=True)
        (tmp_path / "imdb" / "aclImdb" / "test" / name / "0_1.txt").write_text("Good film.")
    found = read_dataset("imdb", tmp_path / "imdb")
    assert (found.tested, found.trained) == (2, 3)
    assert found.digest == alone.digest
    assert found.labels.tolist() == [0, 1, 1, 0, 1]
    assert found.lengths is not None
    assert found.lengths.tolist() == [6, 4, 250, 3, 3]


def test_runs_without_a_split_never_see_the_test_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    images, labels = write_mnist(tmp_path)
    before = prepare_with("mnist", lambda _: read_dataset("mnist", tmp_path), tmp_path)
    for name, array in (("t10k-images-idx3-ubyte", 255 - images), ("t10k-labels-idx1-ubyte", labels)):
        (tmp_path / name).write_bytes(idx(array))
    after = prepare_with("mnist", lambda _: read_dataset("mnist", tmp_path), tmp_path)
    assert before.folder != after.folder
    same = ("digest", "samples", "range", "mean", "deviation")
    assert [before.description[name] for name in same] == [after.description[name] for name in same]
    graph = registry.problem("mnist_mlp").graph(8)
    first, second = (DatasetBatches(data.folder, graph, 3) for data in (before, after))
    assert first.distinct == second.distinct == 2
    assert first.digests(5) == second.digests(5)
    for number in range(5):
        assert all(np.array_equal(a, second.batch(number)[n]) for n, a in first.batch(number).items())
    parts = StoredData.open(after.folder).split({"train": 0.8, "test": 0.2})
    assert parts.test.tolist() == list(range(20, 40))
    assert parts.train.tolist() == list(range(20))
