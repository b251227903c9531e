"""What is removed is what was asked for, with its log, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.results.prune import Pruned, PruneRule, find_unwanted, prune
from benchmarker.errors import StoreError, UsageError
from benchmarker.records.store import Store
from benchmarker.records.timestamps import beginning
from benchmarker.worker.measurement.profile import unprofiled
from tests.conftest import Command
from tests.support.records import make_failed_record, make_record


def started(day: int, **changes: Any) -> dict[str, Any]:
    day_text = f"2026-03-{day:02d}"
    return make_record(
        started_at=f"{day_text}T12:00:00.000000Z", ended_at=f"{day_text}T12:01:00.000000Z", **changes
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six days of PyTorch, two of TensorFlow."""
    store = Store(tmp_path / "results")
    for day in range(1, 7):
        store.save(started(day), "log")
    for day in (1, 2):
        store.save(started(day, framework__name="tensorflow", framework__version="2.21.0"))
    return store.folder


def days(found: list[Pruned]) -> list[str]:
    return [f"{item.record.name.split('_')[1][:2]}{int(item.record.name[8:10])}" for item in found]


def test_the_newest_of_each_cell_are_kept(folder: Path) -> None:
    results = load_results(folder)
    assert days(find_unwanted(results, PruneRule(keep=1))) == ["py1", "te1", "py2", "py3", "py4", "py5"]
    assert days(find_unwanted(results, PruneRule(keep=2))) == ["py1", "py2", "py3", "py4"]
    assert find_unwanted(results, PruneRule(keep=6)) == []
    assert len(find_unwanted(results, PruneRule(keep=0))) == 8


def test_old_ones_beyond_those_that_are_kept(folder: Path) -> None:
    results, before = load_results(folder), beginning("2026-03-03")
    assert days(find_unwanted(results, PruneRule(before))) == ["py1", "te1", "py2", "te2"]
    assert days(find_unwanted(results, PruneRule(before, keep=1))) == ["py1", "te1", "py2"]
    assert days(find_unwanted(results, PruneRule(before, keep=5))) == ["py1"]


def test_a_failure_is_no_newer_number(folder: Path) -> None:
    failed = make_failed_record(started_at="2026-03-09T12:00:00.000000Z", ended_at=None)
    failed["framework"].update(version="2.13.0", full="pytorch-2.13.0+cpu")
    failed["device"]["name"] = make_record()["device"]["name"]
    Store(folder).save(failed)
    assert "py6" not in days(find_unwanted(load_results(folder), PruneRule(keep=1)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("framework__version", "2.14.0"),
        ("framework__options", {"compile": True}),
        ("platform__host", {"name": "other"}),
        ("device__name", "Other CPU"),
        ("batch_size", 8),
    ],
)
def test_what_makes_another_cell(tmp_path: Path, name: str, value: Any) -> None:
    store = Store(tmp_path)
    store.save(started(1))
    store.save(started(2, **{name: value}))
    assert find_unwanted(load_results(tmp_path), PruneRule(keep=1)) == []
    store.save(started(3, **{name: value}))
    assert days(find_unwanted(load_results(tmp_path), PruneRule(keep=1))) == ["py2"]


def test_records_go_with_their_logs_alone(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "other.log").write_text("mine")
    found = find_unwanted(load_results(folder), PruneRule(keep=1))
    gone = {item.record for item in found} | {item.log for item in found if item.log}
    before = set(folder.iterdir())
    assert sum(item.log is not None for item in found) == 5
    prune(found, folder)
    assert before - set(folder.iterdir()) == gone


def test_a_log_that_a_record_claims_and_is_not_its_own_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    outside = tmp_path / "outside.log"
    outside.write_text("mine")
    kept = store.save(started(5), "of another")
    for day, log in ((1, "../outside.log"), (2, str(outside)), (3, kept.with_suffix(".log").name)):
        path = store.save(started(day))
        path.write_text(json.dumps({**json.loads(path.read_text()), "log": log}))
    stray = path.with_suffix(".log")  # beside the last of them, which says that its log is another
    stray.write_text("mine")
    found = find_unwanted(load_results(store.folder), PruneRule(keep=1))
    assert [item.log for item in found] == [None] * 3
    prune(found, store.folder)
    assert outside.exists()
    assert set(store.folder.iterdir()) == {kept, kept.with_suffix(".log"), stray}


def test_nothing_outside_of_the_folder_is_removed(tmp_path: Path) -> None:
    inside, outside = Store(tmp_path / "in").save(started(1)), Store(tmp_path / "out").save(started(1))
    (tmp_path / "in" / "door").symlink_to(tmp_path / "out")
    through = tmp_path / "in" / "door" / outside.name
    for path in (outside, through):
        with pytest.raises(StoreError, match="only records inside of"):
            prune([Pruned(inside, None, 0), Pruned(path, None, 0)], tmp_path / "in")
    assert inside.exists()
    assert outside.exists()
    assert load_results(tmp_path / "in").paths == (inside,)


def test_fewer_than_none_cannot_be_kept() -> None:
    with pytest.raises(UsageError, match="at least 0, got -1"):
        PruneRule(keep=-1)


def test_the_command_removes_only_with_yes(command: Command) -> None:
    store = Store(command.folder / "results")
    good = store.save(started(1))
    for day, kind in ((2, "failed"), (3, "crashed"), (4, "timeout")):
        moment = f"2026-03-{day:02d}T12:00:00.000000Z"
        store.save(make_failed_record(status=kind, started_at=moment, ended_at=None), "log")
    before = set(store.folder.iterdir())
    dry = command("results", "prune", "--status=failed,crashed")
    assert dry.status == 0
    assert dry.stdout.splitlines()[-1].startswith("2 records and 2 logs (")
    assert dry.stdout.splitlines()[-1].endswith("would be removed; --yes removes them")
    assert set(store.folder.iterdir()) == before
    done = command("results", "prune", "--status=failed,crashed", "--yes", "--json")
    told = json.loads(done.stdout)
    assert told["removed"] is True
    assert len(told["records"]) == 2
    assert len(before - set(store.folder.iterdir())) == 4
    assert command(
        "results", "prune", "status=timeout", "--older-than=2026-03-04", "--yes"
    ).stdout.startswith("0 ")
    last = command("results", "prune", "status=timeout", "--older-than=1d", "--yes")
    assert last.stdout.splitlines()[0].endswith(".json")
    assert set(store.folder.iterdir()) == {good}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "prune removes only what is asked for"),
        (("--yes",), "got none"),
        (("--older-than=soon",), "'soon'"),
        (("--status=failed", "status=ok"), "status"),
        (("--keep=-2",), "-2"),
        (("frmework=x",), "did you mean 'framework'?"),
    ],
)
def test_what_cannot_be_meant_removes_nothing(command: Command, words: tuple[str, ...], text: str) -> None:
    path = Store(command.folder / "results").save(started(1))
    finished = command("results", "prune", *words)
    assert (finished.status, finished.stdout) == (2, "")
    assert text in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert path.exists()


def test_a_trace_goes_with_its_record(tmp_path: Path) -> None:
    record = started(1, profile=unprofiled("only its trace matters here"))
    path = Store(tmp_path).save(record, "log", b"trace")
    prune(find_unwanted(load_results(tmp_path), PruneRule(keep=0)), tmp_path)
    assert not path.exists()
    assert list(tmp_path.iterdir()) == []
