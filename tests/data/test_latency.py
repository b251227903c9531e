"""Data-set latency: all formats give the pixels, cold is cold where the kernel lets go, the table says what it has."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.cli.main import main
from benchmarker.data import page_cache
from benchmarker.data.latency import timing
from benchmarker.data.latency.formats import FORMATS, photographs, stored_formats
from benchmarker.data.latency.timing import TimedBatches, read_images, stored_files, time_batches
from benchmarker.data.readers.image_folder import decoded
from benchmarker.errors import UsageError
from benchmarker.orchestration.jobs.latency import Latency, measure_latency
from tests.support.framework_process import answer

SIZE = 32
DECODING = sorted(name for name in registry.names("frameworks") if registry.framework(name).image_decoder)
"""Frameworks with a decoder of their own."""


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_pixels(name: str, tmp_path: Path) -> None:
    with stored_formats(tmp_path, [name], 5, SIZE) as (stored,):
        numbers = [3, 0, 4]
        found = read_images(
            stored.folder, name, numbers, SIZE, lambda content, size: decoded(content, "x", size)
        )
        expected = [decoded(photographs()[number % 2], "x", SIZE) for number in numbers]
        assert found.dtype == np.uint8
        assert np.array_equal(found, expected)
        assert all(path.is_file() for path in stored_files(stored.folder, name, numbers))
        assert stored.stored_bytes(numbers) >= 3 * 3 * SIZE * SIZE
        assert sorted(number for batch in stored.batches(2) for number in batch) == list(range(5))
    assert list(tmp_path.iterdir()) == []


def test_photographs_are_real_jpegs() -> None:
    originals = photographs()
    assert [len(original) for original in originals] == [196_653, 142_987]
    assert all(original.startswith(b"\xff\xd8\xff") for original in originals)


def test_each_format_is_measured_cold_and_warm(tmp_path: Path) -> None:
    ticks = itertools.count()
    found = list(
        measure_latency(tmp_path, batch_size=2, size=SIZE, repeats=13, clock=lambda: next(ticks) * 0.5)
    )
    assert [(row.format, row.timed.cache) for row in found] == [
        (name, cache) for name in FORMATS for cache in ("cold", "warm")
    ]
    for row in found:
        assert row.timed.seconds == (0.5,) * 13
        assert row.median_seconds == 0.5
        assert row.interval_seconds == (0.5, 0.5)
        assert row.target == "NumPy"
        assert row.timed.cache == "cold" or row.timed.kept is None
    assert list(tmp_path.iterdir()) == []
    assert "Pillow" in found[-1].decoder
    assert found[0].decoder == "NumPy"


def test_few_mini_batches_have_no_interval() -> None:
    row = Latency("npy", "NumPy", "NumPy", 1, 8, 1, TimedBatches("warm", (1.0, 3.0, 2.0)))
    assert row.median_seconds == 2.0
    assert row.interval_seconds is None
    assert row.to_json()["median_interval"] is None


BATCHES = [[0, 1], [2, 3]]


def test_every_cold_mini_batch_is_dropped_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    monkeypatch.setattr(timing, "drop", lambda path: events.append(path.name))

    def clock() -> float:
        events.append("clock")
        return 0.0

    def files(numbers: Sequence[int]) -> list[Path]:
        return [Path(str(number)) for number in numbers]

    cold, warm = time_batches(lambda numbers: events.append(numbers), files, BATCHES, 3, clock)
    assert (cold.cache, warm.cache) == ("cold", "warm")
    timed = [[*"01", "clock", BATCHES[0], "clock"], [*"23", "clock", BATCHES[1], "clock"]]
    assert events[:1] == BATCHES[:1]
    assert events[1:16] == timed[0] + timed[1] + timed[0]
    # All of them are in the cache before the first warm one.
    assert events[16:18] == BATCHES
    assert events[18:] == [e for n in (0, 1, 0) for e in ("clock", BATCHES[n], "clock")]


def test_pages_that_stay_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "drop", lambda path: "the kernel kept 7 pages of 'x'")
    cold, warm = time_batches(lambda numbers: None, lambda numbers: [Path("x")], BATCHES, 2)
    assert cold.kept == "the kernel kept 7 pages of 'x'"
    assert warm.kept is None


def test_the_cache_of_a_file_is_seen_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (1 << 20))
    path.read_bytes()
    with path.open("rb") as file:
        before = page_cache.resident_pages(file.fileno())
        reason = page_cache.drop(path)
        after = page_cache.resident_pages(file.fileno())
    assert before > 200
    assert (reason is None) == (after == 0)
    empty = tmp_path / "empty"
    empty.touch()
    assert page_cache.drop(empty) is None


def test_a_system_that_cannot_drop_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(
        os, "posix_fadvise", lambda *_: (_ for _ in ()).throw(OSError(22, "Invalid argument"))
    )
    assert page_cache.drop(path) == "the kernel refused: Invalid argument"
    monkeypatch.delattr(os, "posix_fadvise")
    assert page_cache.drop(path) == "this system cannot drop pages"


# --- the command -----------------------------------------------------------------------------------


def run(capsys: Any, *options: str) -> tuple[int, str, str]:
    status = main(["data", "latency", *options])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_command_prints_a_table(tmp_path: Path, capsys: Any) -> None:
    status, out, err = run(
        capsys, "npy", "jpeg", f"--folder={tmp_path}", "--batch-size=2", f"--size={SIZE}", "--repeats=12"
    )
    assert status == 0
    assert out.startswith("mini-batches of 2 images of 32 x 32 pixels from ")
    assert all(word in out for word in ("npy", "jpeg", "cold", "warm", "Pillow", "median"))
    assert "png" not in out
    assert "measuring jpeg" in err


def test_the_command_prints_json(tmp_path: Path, capsys: Any) -> None:
    _, out, err = run(
        capsys, "idx", f"--folder={tmp_path}", "--batch-size=2", "--size=8", "--repeats=3", "--json"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["format"], row["page_cache"]) for row in rows] == [("idx", "cold"), ("idx", "warm")]
    assert all(len(row["samples"]) == 3 for row in rows)
    assert rows[0]["stored_bytes"] == 2 * 3 * 8 * 8
    assert err == ""


def test_an_unknown_format_is_one_sentence(tmp_path: Path, capsys: Any) -> None:
    assert run(capsys, "jpg", f"--folder={tmp_path}") == (
        2,
        "",
        "benchmarker: unknown format 'jpg'; did you mean 'jpeg'?\n",
    )


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(UsageError) as caught:
            list(measure_latency(path, formats=["npy"], batch_size=1, size=8, repeats=1))
        assert str(caught.value) == f"images must be stored in a folder that exists, got '{path}'"


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UsageError) as caught:
        list(measure_latency(tmp_path, formats=["npy"], batch_size=1, size=8, repeats=1))
    assert str(caught.value) == f"images cannot be stored in '{tmp_path}': No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_framework_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown framework 'tensorflwo'; did you mean 'tensorflow'"):
        list(measure_latency(tmp_path, frameworks=["tensorflwo"], note=lambda text: pytest.fail(text)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.framework
@pytest.mark.parametrize(
    ("framework", "formats"),
    [("tensorflow", [*FORMATS]), ("opencv", [*FORMATS]), ("numpy", ["npy", "idx"])],
)
def test_frameworks_are_measured_by_their_own_decoders(
    framework: str, formats: list[str], tmp_path: Path, cache_home: Path
) -> None:
    told: list[str] = []
    found = list(
        measure_latency(
            tmp_path, frameworks=[framework], batch_size=2, size=SIZE, repeats=2, note=told.append
        )
    )
    rows = [row for row in found if row.target != "NumPy"]
    assert [(row.format, row.timed.cache) for row in rows] == [
        (n, c) for n in formats for c in ("cold", "warm")
    ]
    assert all(row.target.startswith(f"{framework} ") for row in rows)
    assert all(len(row.timed.seconds) == 2 and min(row.timed.seconds) > 0 for row in rows)
    assert {row.decoder for row in rows} <= {"NumPy", rows[0].target}
    without = f"{framework} has no decoder of its own for png, jpeg"
    assert (without in told) == (len(formats) == 2)


def test_four_frameworks_have_a_decoder() -> None:
    assert DECODING == ["keras_tensorflow", "mxnet", "opencv", "tensorflow"]


@pytest.mark.framework
@pytest.mark.parametrize("framework", DECODING)
def test_a_frameworks_own_decoder_gives_about_the_same_pixels(framework: str, tmp_path: Path) -> None:
    module = registry.framework(framework).image_decoder.partition(":")[0]
    program = (
        "import json, sys\n"
        "from pathlib import Path\n"
        f"from {module} import decoder\n"
        "decode = decoder()\n"
        "found = [decode(Path(path).read_bytes(), 64) for path in sys.argv[1:]]\n"
        "print(json.dumps([[str(each.dtype), each.tolist()] for each in found]))\n"
    )
    with stored_formats(tmp_path, ["png", "jpeg"], 1, 64) as stored:
        paths = [path for one in stored for path in stored_files(one.folder, one.name, [0])]
        for path, (dtype, pixels) in zip(paths, answer(framework, "-c", program, *map(str, paths))):
            expected = decoded(path.read_bytes(), "x", 64).astype(float)
            assert dtype == "uint8"
            # Upside down, or with red for blue, the mean difference is beyond 20.
            assert np.abs(np.array(pixels) - expected).mean() < 4
