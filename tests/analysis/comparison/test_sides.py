"""From what was asked for to the records of a side."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison.sides import commit_of, find_side
from benchmarker.errors import UsageError
from benchmarker.records.store import Store
from tests.support.campaign_records import process, processes
from tests.support.records import set_at


def saved(folder: Path, *records: dict[str, Any]) -> list[Path]:
    return [Store(folder).save(record) for record in records]


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two commits, the first one tagged, as the working directory."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in (1, 2):
        (folder / "file").write_text(str(number))
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", str(number))
    git(folder, "tag", "v1", "HEAD~1")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    return folder


def test_a_folder_is_all_its_records(tmp_path: Path) -> None:
    saved(tmp_path / "day" / "machine", process())
    saved(tmp_path / "day", process(number=1))
    assert len(find_side(str(tmp_path / "day"), tmp_path).records) == 2


def test_copies_of_a_record_are_one(tmp_path: Path) -> None:
    record = process()
    saved(tmp_path / "here", record)
    saved(tmp_path / "there", record)
    assert [one["id"] for one in find_side("framework=pytorch", tmp_path).records] == [record["id"]]


def test_filters_have_spaces_between_them(tmp_path: Path) -> None:
    saved(tmp_path, process(), process(framework__name="mxnet"), process(batch_size=8))
    side = find_side("framework=pytorch batch_size=4", tmp_path)
    assert side.name == "framework=pytorch batch_size=4"
    assert [(r["framework"]["name"], r["batch_size"]) for r in side.records] == [("pytorch", 4)]


def test_a_record_stands_for_all_processes_of_its_number(tmp_path: Path) -> None:
    paths = saved(tmp_path, *processes())
    saved(tmp_path, process(framework__name="mxnet"), process(campaign="d" * 32))
    identifier = json.loads(paths[4].read_text())["id"]
    for name in (str(paths[4]), paths[4].name, identifier[:12]):
        side = find_side(name, tmp_path)
        assert {r["replication"]["campaign"] for r in side.records} == {"c" * 32}
        assert len(side.records) == 10


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, process())
    with pytest.raises(UsageError, match="there are none for 'framework=tensorflow'"):
        find_side("framework=tensorflow", tmp_path)
    with pytest.raises(UsageError, match="no record"):
        find_side("ffffffffffff", tmp_path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "timing.step_seconds.median",
            '{path}: is not a valid record: $.{name} must be a number, got "much"',
        ),
        ("platform.memory.total_bytes", "left out, not a valid record: {id} ({name})"),
    ],
)
def test_a_record_of_nonsense_is_left_out_and_told(tmp_path: Path, name: str, told: str) -> None:
    good, bad = saved(tmp_path, process(), process(number=1))
    record = json.loads(bad.read_text())
    set_at(record, name, "much")
    bad.write_text(json.dumps(record))
    side = find_side("framework=pytorch", tmp_path)
    assert [r["id"] for r in side.records] == [json.loads(good.read_text())["id"]]
    assert [note.removeprefix("left out: ") for note in side.notes] == [
        told.format(path=bad, id=record["id"], name=name)
    ]


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    saved(tmp_path, process())
    (tmp_path / "broken.json").write_text('{"schema_version": "1.3"')
    side = find_side(str(tmp_path), tmp_path)
    assert len(side.records) == 1
    assert side.notes[0].startswith(f"left out: {tmp_path / 'broken.json'}: is not JSON")


def test_it_is_told_how_many_records_are_read(tmp_path: Path) -> None:
    saved(tmp_path, *(process(number=i) for i in range(3)))
    told: list[tuple[int, int]] = []
    find_side(str(tmp_path), tmp_path, lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3)]


# --- revisions -------------------------------------------------------------------------------------


def test_a_revision_is_one_commit(repository: Path) -> None:
    assert commit_of("v1") == git(repository, "rev-parse", "HEAD~1")
    assert commit_of("HEAD") == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("revision", ["v2", "v1..HEAD", "--all", "", "HEAD:file"])
def test_what_names_no_single_commit_is_refused(repository: Path, revision: str) -> None:
    with pytest.raises(UsageError, match="must name one commit"):
        commit_of(revision)


def test_outside_of_a_repository_there_are_no_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="in no git checkout"):
        commit_of("HEAD")


def test_the_records_of_a_revision_are_those_of_its_clean_checkout(repository: Path, tmp_path: Path) -> None:
    def made_at(revision: str, *, dirty: bool, **changes: Any) -> dict[str, Any]:
        facts = {"commit": git(repository, "rev-parse", revision), "dirty": dirty, "reason": None}
        return process(platform__source_control={"working_directory": facts, "benchmarker": None}, **changes)

    clean = made_at("v1", dirty=False)
    saved(tmp_path / "r", clean, made_at("v1", dirty=True, number=1), made_at("HEAD", dirty=False), process())
    side = find_side("git:v1", tmp_path / "r")
    assert [record["id"] for record in side.records] == [clean["id"]]
    assert side.notes == ("left out of 'git:v1', since the checkout had changes: 1 records",)
    git(repository, "commit", "-q", "--allow-empty", "-m", "3")
    with pytest.raises(UsageError, match="of which there are no records"):
        find_side("git:HEAD", tmp_path / "r")
