"""The copy of a results folder elsewhere: what is read and sent, and what becomes of faults; in memory here."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from benchmarker import load_results
from benchmarker.errors import StoreError, UsageError
from benchmarker.records import places
from benchmarker.records.remote import folder, objects, packs
from benchmarker.records.remote.addresses import checked_address, local_path
from benchmarker.records.remote.objects import Objects
from benchmarker.records.remote.opening import open_place, store_at
from benchmarker.records.store import Store, read_record
from tests.support.records import make_record

ADDRESS = "memory://measured/here"


@pytest.fixture(autouse=True)
def memory(own_home: Path) -> Iterator[MemoryFileSystem]:
    """An empty store, and no place open."""
    fs = MemoryFileSystem()
    fs.store.clear()
    yield fs
    places.close()
    fs.store.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects that are read."""
    found: list[str] = []
    read = Objects.read

    def noted(self: Objects, name: str) -> Any:
        found.append(name)
        return read(self, name)

    monkeypatch.setattr(Objects, "read", noted)
    return found


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds waited between attempts, which are not waited for."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def another_machine(monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Path) -> None:
    places.close()
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / name))


def save(count: int) -> list[Path]:
    store = store_at(open_place(ADDRESS))
    return [store.save(make_record(), "a log") for _ in range(count)]


def names(memory: MemoryFileSystem) -> list[str]:
    return sorted(str(name).removeprefix("/measured/here/") for name in memory.store)


def test_many_records_are_read_by_index_objects_and_what_those_lack_one_by_one(
    memory: MemoryFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reads: list[str],
) -> None:
    monkeypatch.setattr(folder, "FEW", 2)
    monkeypatch.setattr(packs, "MAX_RECORDS", 8)
    saved = save(20)
    place = places.place_at(saved[0].parent)
    assert place is not None
    assert place.index() == (20, 20)
    assert place.index() == (0, 20)
    save(2)
    # Somebody takes one away, and changes one.
    del memory.store[f"/measured/here/{saved[0].name}"]
    changed = memory.cat_file(f"{ADDRESS}/{saved[1].name}").replace(b'"batch_size": 4', b'"batch_size": 5')
    memory.pipe_file(f"{ADDRESS}/{saved[1].name}", changed)
    another_machine(monkeypatch, "second", tmp_path)
    reads.clear()
    results = load_results(ADDRESS)
    assert len(results) == 21
    assert len(results.filter(batch_size=5)) == 1
    assert not results.damaged
    # Three archives with their lists, and three records; a log when somebody asks for it.
    assert len(reads) == 3 + 3 + 3
    reads.clear()
    places.close()
    assert len(load_results(ADDRESS)) == 21
    assert reads == []


def test_a_damaged_index_object_costs_time_and_nothing_else(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(folder, "FEW", 4)
    place = places.place_at(save(6)[0].parent)
    assert place is not None
    place.index()
    (archive,) = (name for name in names(memory) if name.endswith(packs.ARCHIVE))
    memory.pipe_file(f"{ADDRESS}/{archive}", memory.cat_file(f"{ADDRESS}/{archive}")[:-40])
    another_machine(monkeypatch, "second", tmp_path)
    results = load_results(ADDRESS)
    assert (len(results), dict(results.damaged)) == (6, {})


def test_a_list_that_unpacks_to_too_much_and_one_of_absurd_numbers_tell_nothing() -> None:
    bomb = gzip.compress(b'{"version":1,"members":{}}' + b" " * packs.MAX_LIST_BYTES)
    assert packs.members(bomb) == {}
    for members in ('{"a.json": [1e999, ""]}', '{"a.json": {}}', "[]"):
        assert packs.members(gzip.compress(b'{"version":1,"members":%b}' % members.encode())) == {}


@pytest.mark.parametrize(
    "lines",
    [
        '["../../outside.json", 1, "x"]\n["/tmp/outside.json"]\n[".hidden/x.json"]\n',
        '["a.json", 1e999, ""]\n[1, 2]\n[[]]\n{}\n"text"\nnull\n\xff\n["torn.json", 1',
        "[" * 100_000,
    ],
    ids=["names that lead elsewhere", "absurd values", "nested too deeply"],
)
def test_a_damaged_journal_removes_nothing_outside_of_the_copy_and_no_record_is_lost(
    memory: MemoryFileSystem, own_home: Path, lines: str
) -> None:
    (copy,) = {path.parent for path in save(3)}
    outside = (copy / "../../outside.json").resolve()
    outside.write_text("{}", encoding="utf-8")
    places.close()
    with (copy / ".sent.jsonl").open("a", encoding="latin-1") as stream:
        stream.write(lines)
    assert len(load_results(ADDRESS)) == 3
    assert outside.exists()
    assert len([name for name in names(memory) if name.endswith(".json")]) == 3


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_in_the_place_of_the_journal_stops_nothing(
    memory: MemoryFileSystem, make: Callable[[Path], None]
) -> None:
    (copy,) = {path.parent for path in save(2)}
    places.close()
    journal = copy / ".sent.jsonl"
    journal.unlink()
    make(journal)
    assert len(load_results(ADDRESS)) == 2
    assert len(names(memory)) == 4  # with their logs; none was sent twice


def test_a_copy_that_cannot_be_written_is_told(memory: MemoryFileSystem) -> None:
    (copy,) = {path.parent for path in save(2)}
    places.close()
    (copy / ".sent.jsonl").unlink()
    (copy / ".sent.jsonl" / "x").mkdir(parents=True)
    for path in copy.glob("*.json"):
        path.unlink()
    with pytest.raises(StoreError, match="must be a folder that can be written"):
        load_results(ADDRESS)


def test_an_adding_command_indexes_when_many_records_are_in_no_index_object(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "INDEXED_BY_ITSELF", 5)
    save(3)
    load_results(ADDRESS)
    places.close()
    assert not [name for name in names(memory) if name.startswith(packs.FOLDER)]
    load_results(ADDRESS)
    save(2)
    places.close()
    assert len([name for name in names(memory) if name.startswith(packs.FOLDER)]) == 2


def test_nothing_takes_the_place_of_an_object(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = make_record()
    (first,) = (store_at(open_place(ADDRESS)).save(record, "of the first"),)
    another_machine(monkeypatch, "second", tmp_path)
    other = {**record, "id": f"{record['id'][:-9]}0{record['id'][-8:]}"}
    second = store_at(open_place(ADDRESS)).save(other, "of the second")
    assert second.stem.startswith(f"{first.stem}-")
    assert read_record(second)["log"] == f"{second.stem}.log"
    assert names(memory) == sorted(
        f"{file.stem}.{end}" for file in (first, second) for end in ("json", "log")
    )
    assert memory.cat_file(f"{ADDRESS}/{first.stem}.log") == b"of the first"
    assert sorted(record["id"] for record in load_results(ADDRESS)) == sorted([record["id"], other["id"]])


def test_a_fault_that_passes_is_waited_out_and_a_lost_answer_makes_no_second_record(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, delays: list[float]
) -> None:
    put = MemoryFileSystem.pipe_file
    faults = iter([True, False, None, True])

    def unsteady(self: Any, path: str, value: bytes, **options: Any) -> None:
        fault = next(faults, None)
        if fault is not True:
            put(self, path, value, **options)
        if fault is not None:
            raise ConnectionError("reset by peer")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", unsteady)
    (saved,) = save(1)
    assert len(delays) == 3
    assert 0.25 <= delays[0] <= 0.75
    assert 0.5 <= delays[1] <= 1.5
    assert names(memory) == [saved.name, f"{saved.stem}.log"]


def test_what_cannot_be_sent_waits_in_the_copy_and_goes_with_the_next_command(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, delays: list[float]
) -> None:
    def gone(*_: Any, **options: Any) -> None:
        raise ConnectionError("no route to host")

    with monkeypatch.context() as offline:
        offline.setattr(MemoryFileSystem, "pipe_file", gone)
        saved = save(3)
        # Asked as often as it makes sense once, and not again for each record.
        assert len(delays) == objects.ATTEMPTS - 1
        sentences, complete = places.close()
    assert not complete
    assert len(sentences) == 1
    assert "no route to host; 3 records not sent yet, kept in " in sentences[0]
    assert names(memory) == []
    results = load_results(ADDRESS)
    assert sorted(results.paths) == sorted(saved)
    assert places.close() == (["3 records from before sent to 'memory://measured/here'"], True)
    assert len(names(memory)) == 6


def test_who_may_read_and_not_write_reads_and_is_told_what_waits(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(1)

    def denied(*_: Any, **options: Any) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", denied)
    store = store_at(open_place(ADDRESS))
    with pytest.raises(UsageError, match="place that can be written, got 'memory://measured/here'"):
        store.check_writable()
    store.save(make_record())
    places.close()
    assert len(load_results(ADDRESS)) == 2
    (sentence,), complete = places.close()
    assert "Access Denied; 1 record not sent yet" in sentence
    assert not complete


def test_a_reading_that_was_interrupted_goes_on_and_sends_nothing(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reads: list[str]
) -> None:
    save(6)
    another_machine(monkeypatch, "second", tmp_path)
    with monkeypatch.context() as interrupted:
        keep = folder.RemoteFolder._keep
        done: list[str] = []

        def keep_some(self: Any, name: str, data: bytes) -> None:
            if len(done) == 4:
                raise KeyboardInterrupt
            done.append(name)
            keep(self, name, data)

        interrupted.setattr(folder.RemoteFolder, "_keep", keep_some)
        with pytest.raises(KeyboardInterrupt):
            load_results(ADDRESS)
    reads.clear()
    sent: list[str] = []
    monkeypatch.setattr(Objects, "create", lambda self, name, data: sent.append(name))
    another_machine(monkeypatch, "second", tmp_path)
    assert len(load_results(ADDRESS)) == 6
    assert len(reads) == 2
    assert places.close() == ([], True)
    assert sent == []


def test_who_names_an_address_again_sees_what_others_have_added(memory: MemoryFileSystem) -> None:
    (saved,) = save(1)
    assert len(load_results(ADDRESS)) == 1
    memory.pipe_file(f"{ADDRESS}/other.json", memory.cat_file(f"{ADDRESS}/{saved.name}"))
    assert len(load_results(ADDRESS)) == 2


def test_a_store_that_overwrites_is_refused(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = MemoryFileSystem.pipe_file
    monkeypatch.setattr(
        MemoryFileSystem, "pipe_file", lambda self, path, value, **options: put(self, path, value)
    )
    with pytest.raises(UsageError, match="refuses to put an object in the place of another"):
        store_at(open_place(ADDRESS)).check_writable()
    assert names(memory) == []


def test_names_that_lead_elsewhere_are_not_followed(memory: MemoryFileSystem, own_home: Path) -> None:
    for name in ("../../outside.json", "/absolute.json", ".hidden/x.json"):
        memory.store[f"/measured/here/{name}"] = memory.store.get("x") or _file(memory, name)
    assert len(load_results(ADDRESS)) == 0
    assert not list(own_home.rglob("outside.json"))
    assert not list(own_home.rglob("absolute.json"))


def _file(memory: MemoryFileSystem, name: str) -> Any:
    from fsspec.implementations.memory import MemoryFile

    return MemoryFile(memory, f"/measured/here/{name}", b"{}")


def test_what_is_no_address_of_results_is_refused_and_no_password_repeated() -> None:
    for text in (
        "s3://key:pass/word@bucket/x",
        "sftp://me:word@host/x",
        "s3://bucket/x?sig=word",
        "s3://",
        "s3:///",
    ):
        with pytest.raises(UsageError, match="address of results must") as refusal:
            checked_address(text)
        assert "word" not in str(refusal.value).replace("password", "")
    with pytest.raises(
        UsageError, match="listed and written, such as s3://bucket/folder, got 'https://host/x'"
    ):
        checked_address("https://host/x")
    assert checked_address("S3://bucket/folder//") == "s3://bucket/folder"
    assert checked_address("abfs://container@account.host/x") == "abfs://container@account.host/x"
    with pytest.raises(UsageError, match="what fsspec knows, got 'nosuch://'"):
        load_results("nosuch://bucket/x")


def test_an_address_of_this_machine_is_a_path(tmp_path: Path) -> None:
    assert local_path("file:///some/where%20else") == Path("/some/where else")
    assert type(store_at(open_place(f"file://{tmp_path}"))) is Store
