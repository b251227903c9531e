"""The index of a folder: quick, never wrong, and never needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from benchmarker.analysis.results import Results, index, scanning
from benchmarker.analysis.results.collection import load_results
from benchmarker.records import reading
from tests.conftest import ROOT
from tests.support.records import make_failed_record, make_old_record, make_record

Write = Callable[..., Path]
LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def few_files_have_an_index(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "FEW", 0)
    monkeypatch.setattr(index, "_UNSETTLED_NS", 0)


@pytest.fixture(name="folder")
def made_folder(tmp_path: Path) -> Path:
    (tmp_path / "records").mkdir()
    return tmp_path / "records"


@pytest.fixture(name="write")
def writer(folder: Path) -> Write:
    def write(name: str, record: Any, changed: int = LONG_AGO) -> Path:
        path = folder / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(record if isinstance(record, str) else json.dumps(record))
        os.utime(path, (changed, changed))
        return path

    return write


@pytest.fixture(name="read")
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that were read to make rows, in this process."""
    names: list[str] = []
    monkeypatch.setattr(index, "available_threads", lambda: 1)
    real = reading.read_bytes

    def read_bytes(path: str, *, follow: bool) -> bytes:
        names.append(Path(path).stem)
        return real(path, follow=follow)

    monkeypatch.setattr(index, "read_bytes", read_bytes)
    return names


def indexes(own_home: Path) -> list[Path]:
    return sorted((own_home / "indexes").iterdir())


def as_fresh(folder: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold results against those that were read from all files."""
    with monkeypatch.context() as patch:
        patch.setattr(scanning, "FEW", 10**6)
        fresh = load_results(folder)
    assert (results.paths, results.damaged) == (fresh.paths, fresh.damaged)
    assert_frame_equal(results.to_frame(), fresh.to_frame())
    assert list(results) == list(fresh)


def test_what_is_known_is_not_read_again(
    folder: Path, write: Write, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write(name, make_record())
    write("d", "no record")
    as_fresh(folder, load_results(folder), monkeypatch)
    assert read == ["a", "b", "c", "d"]
    read.clear()
    results = load_results(folder)
    assert read == []
    as_fresh(folder, results, monkeypatch)


def test_what_is_new_changed_or_gone_is_noticed(
    folder: Path, write: Write, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("b", make_record())
    write("c", make_record())
    gone, damaged = write("d", make_record()), write("e", "no record")
    load_results(folder)
    read.clear()
    write("a", make_failed_record())
    write("c", make_record(batch_size=9), LONG_AGO + 1)
    write("f/g", make_old_record())
    write("h", "nor this")
    gone.unlink()
    damaged.unlink()
    results = load_results(folder)
    assert sorted(read) == ["a", "c", "g", "h"]
    as_fresh(folder, results, monkeypatch)
    assert [path.name for path in results.damaged] == ["h.json"]
    read.clear()
    as_fresh(folder, load_results(folder), monkeypatch)
    assert read == []


def test_a_damaged_file_that_was_mended_is_read(folder: Path, write: Write) -> None:
    write("a", "no record")
    assert len(load_results(folder)) == 0
    write("a", make_record())
    assert len(load_results(folder)) == 1
    write("a", "no record any more")
    assert len(load_results(folder)) == 0


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_noticed(folder: Path, write: Write) -> None:
    path = write("a", make_record(batch_size=3))
    assert load_results(folder).to_frame()["batch_size"].tolist() == [3]
    # Another inode, as a program makes that writes a new file and renames it.
    other = write(".b", path.read_text().replace('"batch_size": 3', '"batch_size": 5'))
    other.replace(path)
    assert load_results(folder).to_frame()["batch_size"].tolist() == [5]


def test_a_file_whose_time_was_put_back_is_noticed(folder: Path, write: Write) -> None:
    path = write("a", make_record(batch_size=3))
    assert load_results(folder).to_frame()["batch_size"].tolist() == [3]
    write("a", path.read_text().replace('"batch_size": 3', '"batch_size": 5'))
    assert load_results(folder).to_frame()["batch_size"].tolist() == [5]


def test_a_file_that_has_just_changed_is_read_again(
    folder: Path, write: Write, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_UNSETTLED_NS", 10**12)
    write("a", make_record())
    load_results(folder)
    load_results(folder)
    assert read == ["a", "a"]


def test_the_index_may_be_deleted(folder: Path, write: Write, own_home: Path, read: list[str]) -> None:
    write("a", make_record())
    load_results(folder)
    (file,) = indexes(own_home)
    file.unlink()
    assert len(load_results(folder)) == 1
    assert read == ["a", "a"]
    assert indexes(own_home) == [file]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "folder"])
def test_a_damaged_index_is_not_trusted(
    folder: Path, write: Write, own_home: Path, read: list[str], damage: str
) -> None:
    for name in "abc":
        write(name, make_record())
    load_results(folder)
    (file,) = indexes(own_home)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.unlink()
    if damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(
            {"empty": b"", "cut": bytes(data[:-9]), "flipped": bytes(data), "text": b"x\ny"}[damage]
        )
    assert len(load_results(folder)) == 3
    assert read == ["a", "b", "c"] * 2


def test_an_index_of_another_release_is_not_trusted(
    folder: Path, write: Write, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a", make_record())
    load_results(folder)
    monkeypatch.setattr(index, "_release", lambda: "another")
    load_results(folder)
    assert read == ["a", "a"]


def test_folders_have_indexes_of_their_own(folder: Path, write: Write, own_home: Path) -> None:
    write("a", make_record())
    write("b/c", make_record())
    assert (len(load_results(folder)), len(load_results(folder / "b"))) == (2, 1)
    assert len(indexes(own_home)) == 2
    assert (len(load_results(folder)), len(load_results(folder / "b"))) == (2, 1)


def test_a_folder_by_another_name_has_the_same_index(
    folder: Path, write: Write, own_home: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a/b", make_record())
    load_results(folder)
    monkeypatch.chdir(folder)
    (folder.parent / "link").symlink_to(folder)
    for name, expected in ((".", "a/b.json"), (folder.parent / "link", str(folder.parent / "link/a/b.json"))):
        assert list(map(str, load_results(name).paths)) == [expected]
    assert read == ["b"]
    assert len(indexes(own_home)) == 1


@pytest.mark.parametrize("kind", ["file", "read-only"])
def test_where_nothing_can_be_kept_everything_is_read(
    folder: Path, write: Write, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "file") if kind == "file" else "/proc")
    write("a", make_record())
    assert len(load_results(folder)) == len(load_results(folder)) == 1
    assert read == ["a", "a"]


def test_old_indexes_and_what_was_left_halfway_make_room(
    folder: Path, write: Write, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_INDEXES", 2)
    (own_home / "indexes").mkdir(parents=True)
    left, new = own_home / "indexes" / ".x.arrow.1", own_home / "indexes" / ".y.arrow.2"
    for file in (left, new):
        file.write_text("")
    os.utime(left, (LONG_AGO, LONG_AGO))
    for name in ("a", "b", "c"):
        write(f"{name}/x", make_record())
        load_results(folder / name)
    assert len(indexes(own_home)) == 3
    assert new.exists()


def test_helpers_read_what_this_process_would(
    folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "CHUNK", 3)
    monkeypatch.setattr(index, "available_threads", lambda: 3)
    for number in range(20):
        write(
            f"{number:02}",
            make_record(
                problem__parameters={
                    f"x{number % 7}": number,
                    "y": [1.5, 2, "z"][number % 3],
                    "w": 1 if number < 9 else 0.5,
                }
            ),
        )
    write("no\udcffne", "no record")
    results = load_results(folder)
    as_fresh(folder, results, monkeypatch)
    assert len(results.damaged) == 1


def test_without_helpers_this_process_reads(
    folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "CHUNK", 1)
    monkeypatch.setattr(index, "available_threads", lambda: 2)
    for name in "abcd":
        write(name, make_record())
    for executable in ("/nothing/python", "/bin/false", "/bin/cat"):
        monkeypatch.setattr(sys, "executable", executable)
        write("e", make_record(), LONG_AGO + len(executable))
        assert len(load_results(folder)) == 5


_LOAD = """
import sys
from benchmarker.analysis.results import scanning
from benchmarker.analysis.results.collection import load_results
scanning.FEW = 0
for _ in range(8):
    results = load_results(sys.argv[1])
    assert len(results) == len(results.to_arrow()) == 40, results
"""


def test_processes_at_once_do_not_disturb_each_other(folder: Path, write: Write) -> None:
    for number in range(40):
        # They have just changed, so every process reads them and writes the index anew.
        write(str(number), make_record())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _LOAD, str(folder)]
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[1] for process in running] == [b""] * 3


def test_progress_is_told(folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarker.analysis.results import collect

    monkeypatch.setattr(index, "CHUNK", 2)
    for name in "abcde":
        write(name, make_record())
    told: list[tuple[int, int]] = []
    collect(folder, {}, lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5), (5, 5)]
