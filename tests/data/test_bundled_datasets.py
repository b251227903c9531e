"""Data sets that need no download: scikit-learn's tables, CPython's own text, folders of images."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from benchmarker import registry
from benchmarker.api.dataset import SourceFile, from_pixels
from benchmarker.data import stored
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.prepared import check_fits, prepare
from benchmarker.data.readers import bundled, image_folder, pydoc_topics
from benchmarker.data.training_batches import FeedSpec
from benchmarker.errors import UsageError
from benchmarker.experiment.data_checks import dataset_fingerprint


def read(name: str, folder: Path | None = None) -> Any:
    return registry.dataset_reader(name)(folder)


def refusal(name: str, folder: Path | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        read(name, folder)
    return str(caught.value)


# --- scikit-learn's tables -------------------------------------------------------------------------


def rows_of(name: str) -> Any:
    path, _ = bundled.bundled_file(name, f"data/{name}.csv")
    with path.open() as lines:
        return np.array(list(csv.reader(lines))[1:], float)


@pytest.mark.parametrize(
    ("name", "file", "counts", "features"),
    [("breast_cancer", "breast_cancer", [212, 357], 30), ("wine", "wine_data", [59, 71, 48], 13)],
)
def test_a_table_is_standardised(name: str, file: str, counts: list[int], features: int) -> None:
    found, raw = read(name), rows_of(file)
    assert found.samples.dtype == np.float32
    assert found.samples.shape == (sum(counts), features)
    assert np.bincount(found.labels).tolist() == counts
    assert (found.classes, found.largest) == (len(counts), None)
    expected = (raw[:, :-1] - raw[:, :-1].mean(axis=0)) / raw[:, :-1].std(axis=0)
    assert found.samples == pytest.approx(expected, abs=1e-4)
    assert found.files[0].sha256 == hashlib.sha256(raw.tobytes()).hexdigest()


def test_tables_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_breast_cancer, load_wine  # with SciPy: two seconds

    for name, load in (("breast_cancer", load_breast_cancer), ("wine", load_wine)):
        features, labels = load(return_X_y=True)
        expected = (features - features.mean(axis=0)) / features.std(axis=0)
        assert read(name).samples == pytest.approx(expected, abs=1e-4)
        assert read(name).labels.tolist() == labels.tolist()


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine"])
def test_without_scikit_learn_one_sentence_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(distribution: str) -> Any:
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert refusal(name) == (
        f"data set '{name}' needs scikit-learn, which is not installed: pip install 'benchmarker-dl[data]'"
    )


def test_a_damaged_table_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wine.csv"
    monkeypatch.setattr("benchmarker.data.readers.tables.bundled_file", lambda *_: (path, "1"))
    path.write_text("3,2,a,b\n1,2,0\n3,4,1\n")
    assert refusal("wine") == f"'{path}' is damaged: it states 3 rows of 2 features but has 2 of 2"
    path.write_text("2,2,a,b\n1,2,0\n3,x,1\n")
    assert refusal("wine").startswith(f"'{path}' is damaged: could not convert string 'x'")


# --- text ------------------------------------------------------------------------------------------


TOPICS = {"b": "The second page, 2 lines.\nIt ends here.", "a": "The first page: ümläute too."}
TEXT = "The first page: ümläute too.\nThe second page, 2 lines.\nIt ends here."


def write_topics(folder: Path, content: str = f"# made\ntopics = {TOPICS!r}\n") -> None:
    (folder / "topics.py").write_text(content, encoding="utf-8")


def test_a_text_becomes_windows_and_the_character_after_each(tmp_path: Path) -> None:
    write_topics(tmp_path)
    found = read("pydoc_topics", tmp_path)
    alphabet = sorted(set(TEXT))
    assert found.symbols == found.classes == len(alphabet)
    assert found.sequential
    assert len(found.labels) == -(-(len(TEXT) - 40) // 3)
    for number, (window, label) in enumerate(zip(found.samples, found.labels)):
        start = 3 * number
        assert "".join(alphabet[n] for n in window) == TEXT[start : start + 40]
        assert alphabet[label] == TEXT[start + 40]
    assert found.files == (SourceFile("topics.py", hashlib.sha256(TEXT.encode()).hexdigest(), False),)


def test_this_pythons_own_text_is_read() -> None:
    text = pydoc_topics.text_of(pydoc_topics._own_file())
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert len(text) > 400_000
    if digest in pydoc_topics.KNOWN:
        found = read("pydoc_topics")
        assert found.files[0].published is True
        assert pydoc_topics.KNOWN[digest] in found.source
        assert 90 < found.symbols < 120
    else:
        assert "here is different" in refusal("pydoc_topics")


def test_another_text_is_one_sentence_and_may_be_given_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topics(tmp_path)
    monkeypatch.setattr(pydoc_topics, "_own_file", lambda: tmp_path / "topics.py")
    message = refusal("pydoc_topics")
    assert message.startswith(
        "data set 'pydoc_topics' is the text of CPython 3.10.13, 3.11.2, 3.11.7, 3.12.1, 3.13.0; "
    )
    assert "give a folder with the topics.py of one of them as --data-dir" in message
    assert message.endswith(f", or '{tmp_path}' to take this one as it is")
    assert read("pydoc_topics", tmp_path).files[0].published is False


@pytest.mark.parametrize(
    "content", ["x = 1\n", "topics = [1, 2]\n", "topics = {'a': 1}\n", "topics = {", "topics = f()"]
)
def test_what_is_no_table_of_texts_is_named(content: str, tmp_path: Path) -> None:
    write_topics(tmp_path, content)
    assert refusal("pydoc_topics", tmp_path) == (
        f"'{tmp_path / 'topics.py'}' is not a file of CPython's pydoc_data: it has no table 'topics' of texts"
    )


def test_nothing_in_a_file_of_text_is_run(tmp_path: Path) -> None:
    write_topics(tmp_path, f"open({str(tmp_path / 'made')!r}, 'w')\ntopics = {TOPICS!r}\n")
    read("pydoc_topics", tmp_path)
    assert not (tmp_path / "made").exists()


def test_a_text_that_is_too_short_is_refused(tmp_path: Path) -> None:
    write_topics(tmp_path, "topics = {'a': 'short'}\n")
    assert (
        "must have more than 40 characters, at most 256 of them different, but 'topics.py' has 5, 5 of them different"
        in refusal("pydoc_topics", tmp_path)
    )


@pytest.fixture
def text_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    write_topics(tmp_path)
    return prepare("pydoc_topics", lambda _: read("pydoc_topics", tmp_path), tmp_path)


def test_a_problem_takes_symbols_one_hot_and_parts_keep_their_order(text_folder: Any) -> None:
    count = text_folder.description["symbols"]
    graph = registry.problem("lstm_char").graph(4, characters=count)
    check_fits(text_folder.description, graph)
    shares = {"train": 0.7, "test": 0.3}
    batches = FeedSpec(str(text_folder.folder), BatchInputs.of(graph), 4, 1, shares=shares).open()
    batch = batches.batch(0)
    assert batch["text"].shape == (4, 40, count)
    assert (batch["text"].sum(axis=2) == 1).all()
    data = stored.StoredData.open(text_folder.folder)
    assert np.array_equal(batch["text"].argmax(axis=2), data.samples[batches.indices(0)])
    parts = data.split(shares)
    assert parts.train.max() < parts.test.min()


def test_a_problem_with_other_symbols_is_refused(text_folder: Any) -> None:
    graph = registry.problem("lstm_char").graph(4)
    with pytest.raises(
        UsageError, match=r"shape \(40, \d+\), but problem 'lstm_char' takes 'text' of \(40, 57\)"
    ):
        check_fits(text_folder.description, graph)
    with pytest.raises(
        UsageError, match="has symbols, but problem 'mnist_mlp' computes with 'image' as real numbers"
    ):
        check_fits(text_folder.description, registry.problem("mnist_mlp").graph(4, inputs=40))


# --- folders of images -----------------------------------------------------------------------------


def write_images(folder: Path) -> dict[str, Any]:
    generator = np.random.default_rng(3)
    pictures = {}
    for name, mode, size in (
        ("n02/n02_7.JPEG", "RGB", (300, 280)),
        ("n01/n01_1.JPEG", "L", (512, 256)),
        ("n01/n01_2.png", "RGBA", (256, 256)),
        ("n01/b.jpg", "CMYK", (64, 128)),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        picture = Image.fromarray(generator.integers(0, 256, (size[1], size[0], 3)).astype(np.uint8)).convert(
            mode
        )
        picture.save(folder / name)
        pictures[name] = picture
    (folder / "n01" / "notes.txt").write_text("no image")
    (folder / "synset_words.txt").write_text("no folder")
    return pictures


def test_folders_of_images_are_read_by_order_of_name(tmp_path: Path) -> None:
    pictures = write_images(tmp_path)
    found = read("image_folder", tmp_path)
    assert found.samples.shape == (4, 3, 256, 256)
    assert found.labels.tolist() == [0, 0, 0, 1]
    assert (found.classes, found.largest) == (2, 255)
    # b.jpg, n01_1.JPEG, n01_2.png: the last is whole and lossless, so that its pixels are known.
    assert np.array_equal(
        found.samples[2], np.asarray(pictures["n01/n01_2.png"].convert("RGB")).transpose(2, 0, 1)
    )
    with Image.open(tmp_path / "n01" / "n01_1.JPEG") as image:
        middle = np.asarray(image.convert("RGB"))[:, 128:384].transpose(2, 0, 1)
    assert np.array_equal(found.samples[1], middle)
    assert found.mean == pytest.approx(found.samples.mean() / 255, abs=1e-6)
    assert found.deviation == pytest.approx(found.samples.std() / 255, abs=1e-6)
    assert "decoded by Pillow" in found.source


def test_the_folder_val_is_the_test_set_of_the_folder_train(tmp_path: Path) -> None:
    for part in ("train", "val"):
        (tmp_path / part).mkdir()
        write_images(tmp_path / part)
    found, alone = read("image_folder", tmp_path), read("image_folder", tmp_path / "train")
    assert (found.tested, found.trained, alone.tested) == (4, 4, 0)
    assert found.labels.tolist() == [0, 0, 0, 1, 0, 0, 0, 1]
    assert found.classes == 2
    assert np.array_equal(found.samples[:4], alone.samples)
    assert (found.mean, found.deviation) == (alone.mean, alone.deviation)
    (tmp_path / "val" / "n01").rename(tmp_path / "val" / "n07")
    assert refusal("image_folder", tmp_path) == (
        f"'{tmp_path / 'val'}' must hold the folders that '{tmp_path / 'train'}' holds, one per class; only one of "
        "them has 'n01'"
    )


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    write_images(tmp_path)
    path = tmp_path / "n01" / "b.jpg"
    path.write_bytes(path.read_bytes()[:200])
    assert refusal("image_folder", tmp_path).startswith(
        f"'{path}' is not an image that Pillow can decode, or is damaged: "
    )
    path.write_text("text")
    assert refusal("image_folder", tmp_path).startswith(
        f"'{path}' is not an image that Pillow can decode, or is damaged: "
    )


def test_a_narrow_image_is_refused_before_it_is_scaled(tmp_path: Path) -> None:
    write_images(tmp_path)
    Image.new("RGB", (1, 60_000)).save(tmp_path / "n01" / "a.png")
    assert "is too narrow: 1 x 60000 pixels become 256 x 15360000" in refusal("image_folder", tmp_path)


def test_a_pipe_in_place_of_an_image_is_waited_for_by_nobody(tmp_path: Path) -> None:
    write_images(tmp_path)
    os.mkfifo(tmp_path / "n01" / "a.png")
    assert "cannot be read: Not a file" in refusal("image_folder", tmp_path)


@pytest.mark.parametrize("damage", ["", "[" * 100_000, "{}", "[]"])
def test_a_kept_data_set_that_is_damaged_is_kept_anew(own_home: Path, damage: str) -> None:
    read = registry.dataset_reader("digits")
    kept = prepare("digits", read, None)
    (kept.folder / "description.json").write_text(damage)
    prepare.cache_clear()
    assert prepare("digits", read, None) == kept
    samples = (kept.folder / "samples.npy").read_bytes()
    (kept.folder / "samples.npy").write_bytes(samples[:1000])
    prepare.cache_clear()
    assert prepare("digits", read, None) == kept
    assert (kept.folder / "samples.npy").read_bytes() == samples


def test_an_image_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert "decompression bomb" in refusal("image_folder", tmp_path)


def test_folders_without_images_are_named(tmp_path: Path) -> None:
    assert "--data-dir" in refusal("image_folder")
    assert refusal("image_folder", tmp_path).endswith("it holds no folder")
    write_images(tmp_path)
    (tmp_path / "n03").mkdir()
    assert refusal("image_folder", tmp_path) == (
        f"'{tmp_path / 'n03'}' must hold images (.jpeg, .jpg, .png); it holds none"
    )


class Usage(NamedTuple):
    free: int


def test_more_images_than_memory_holds_are_decoded_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    (tmp_path / "images").mkdir()
    write_images(tmp_path / "images")
    in_memory = read("image_folder", tmp_path / "images")
    monkeypatch.setattr("os.sysconf", lambda name: 1000)
    on_disk = read("image_folder", tmp_path / "images")
    assert isinstance(on_disk.samples, np.memmap)
    assert np.array_equal(on_disk.samples, in_memory.samples)
    assert (on_disk.digest, on_disk.mean) == (in_memory.digest, in_memory.mean)
    assert list((tmp_path / "home").iterdir()) == []
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1 << 20))
    message = refusal("image_folder", tmp_path / "images")
    assert (
        "has 4 images, which take 0.0 GiB as 256 x 256 pixels each, and twice that while they are decoded; '"
        in message
    )
    assert "has 0.0 GiB free: choose fewer, or another place with BENCHMARKER_HOME" in message


def test_images_are_not_decoded_again_unless_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))
    images = tmp_path / "images"
    images.mkdir()
    write_images(images)
    times = []

    def prepared() -> Any:
        def counted(folder: Path | None) -> Any:
            times.append(folder)
            return read("image_folder", folder)

        return prepare("image_folder", counted, images, dataset_fingerprint("image_folder"))

    first, second = prepared(), prepared()
    assert len(times) == 1
    assert (first.folder, first.description) == (second.folder, second.description)
    path = images / "n01" / "b.jpg"
    Image.new("RGB", (64, 128), (1, 2, 3)).save(path)
    changed = prepared()
    assert len(times) == 2
    assert changed.folder != first.folder
    # What is kept no more is read again.
    shutil.rmtree(changed.folder)
    assert prepared().folder == changed.folder
    assert len(times) == 3
    path.unlink()
    (images / "n01" / "c.jpg").symlink_to("nowhere")
    with pytest.raises(UsageError, match="cannot be read"):
        prepared()


def test_without_pillow_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    assert refusal("image_folder", tmp_path) == (
        "data set 'image_folder' needs Pillow, which is not installed: pip install 'benchmarker-dl[data]'"
    )


def test_jpegs_of_scikit_learn_are_decoded() -> None:
    path, _ = bundled.bundled_file("photographs", "images/china.jpg")
    found = image_folder.decoded(path.read_bytes(), "china.jpg", 224)
    assert found.shape == (3, 224, 224)
    assert 50 < found.mean() < 200
    small = io.BytesIO()
    Image.new("RGB", (224, 224), (10, 20, 30)).save(small, "png")
    assert image_folder.decoded(small.getvalue(), "x", 224).reshape(3, -1).max(axis=1).tolist() == [
        10,
        20,
        30,
    ]


def test_the_mean_of_pixels_is_exact() -> None:
    pixels = np.random.default_rng(1).integers(0, 17, (50, 1, 8, 8)).astype(np.uint8)
    found = from_pixels("x", pixels, np.zeros(50), 1, "", (), 16)
    assert found.mean == round(float(pixels.astype(np.float64).mean() / 16), 6)
    assert found.deviation == round(float(pixels.astype(np.float64).std() / 16), 6)
