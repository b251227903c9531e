"""Folders of several machines become one: every record once, none over another, none half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.results import scanning
from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.results.merge import carry_out, plan_merge
from benchmarker.errors import StoreError, UsageError
from benchmarker.records.store import Store, read_record
from benchmarker.worker.measurement.profile import unprofiled
from tests.conftest import Command
from tests.support.records import make_record


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def identifiers(folder: Path) -> list[str]:
    return sorted(record["id"] for record in load_results(folder))


def put(folder: Path, name: str, record: dict[str, Any], log: str | None = None) -> Path:
    """Write a record under a name, as another machine could have."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**record, "log": f"{name}.log" if log is not None else None}))
    if log is not None:
        (folder / f"{name}.log").write_text(log)
    return path


def merge(*sources: Path, into: Path) -> dict[Path, Path]:
    return carry_out(plan_merge(sources, into))


def test_every_record_comes_once_with_its_log_and_subfolder(tmp_path: Path) -> None:
    a, b, into = tmp_path / "a", tmp_path / "b", tmp_path / "into"
    shared, other = make_record(), make_record()
    put(a, "one", shared, "words of one")
    put(a / "deep", "two", make_record())
    put(b, "copy", shared, "words of one")
    put(b, "other", other)
    before = {folder: files(folder) for folder in (a, b)}
    plan = plan_merge([a, b], into)
    assert not into.exists()
    assert (len(plan.new), plan.known, plan.damaged) == (3, [b / "copy.json"], {})
    carry_out(plan)
    assert set(files(into)) == {"one.json", "one.log", "deep/two.json", "other.json"}
    assert {name: files(into)[name] for name in files(a)} == files(a)
    assert {folder: files(folder) for folder in (a, b)} == before
    assert merge(a, b, into=into) == {}


def test_a_name_that_is_taken_gets_an_addition_and_its_log_too(tmp_path: Path) -> None:
    a, b, into = tmp_path / "a", tmp_path / "b", tmp_path / "into"
    records = [make_record(), make_record()]
    put(a, "same", records[0], "of a")
    put(b, "same", records[1], "of b")
    added = merge(a, b, into=into)
    assert identifiers(into) == sorted(record["id"] for record in records)
    logs = {}
    for copy in added.values():
        record = read_record(copy)
        assert record["log"] == copy.with_suffix(".log").name
        logs[record["id"]] = copy.with_suffix(".log").read_text()
    assert logs == {records[0]["id"]: "of a", records[1]["id"]: "of b"}


def test_one_id_with_two_contents_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    record = make_record()
    first = put(tmp_path / "a", "one", record)
    second = put(tmp_path / "b", "two", {**record, "seed": 7})
    put(tmp_path / "a", "fine", make_record())
    with pytest.raises(UsageError) as caught:
        plan_merge([tmp_path / "a", tmp_path / "b"], tmp_path / "into")
    assert f"'{first}' and '{second}'" in str(caught.value)
    put(tmp_path / "into", "there", record)
    before = files(tmp_path / "into")
    with pytest.raises(UsageError, match="different records with id"):
        plan_merge([tmp_path / "b"], tmp_path / "into")
    assert files(tmp_path / "into") == before


def test_damaged_files_are_named_and_left(tmp_path: Path) -> None:
    put(tmp_path / "a", "good", make_record())
    (tmp_path / "a" / "bad.json").write_text("{")
    (tmp_path / "a" / "no_record.json").write_text('{"schema_version": "1.3"}')
    plan = plan_merge([tmp_path / "a"], tmp_path / "into")
    assert {path.name for path in plan.damaged} == {"bad.json", "no_record.json"}
    carry_out(plan)
    assert set(files(tmp_path / "into")) == {"good.json"}


@pytest.mark.parametrize("few", [1, 100])
def test_folders_are_read_together_and_a_named_link_is_followed(
    few: int, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one file is few, the folder of three is looked up in an index instead."""
    monkeypatch.setattr(scanning, "FEW", few)
    a, b, link = tmp_path / "a", tmp_path / "b", tmp_path / "link.json"
    for name in ("one", "two"):
        put(a, name, make_record())
    (a / "bad.json").write_text("{")
    (b / "deep").mkdir(parents=True)
    (b / "deep" / "bad.json").write_text('{"schema_version": "1.3"}')
    link.symlink_to(put(tmp_path / "elsewhere", "third", make_record()))
    (b / "inside.json").symlink_to(link)
    plan = plan_merge([a, b, link], tmp_path / "into")
    assert set(plan.new) == {a / "one.json", a / "two.json", link}
    assert set(plan.damaged) == {a / "bad.json", b / "deep" / "bad.json", b / "inside.json"}


def test_a_log_of_somewhere_else_is_not_taken(tmp_path: Path) -> None:
    secret = tmp_path / "secret.log"
    secret.write_text("secret")
    a = tmp_path / "a"
    for name, log in (("up", "../secret.log"), ("whole", str(secret)), ("other", "good.log")):
        path = put(a, name, make_record())
        path.write_text(json.dumps({**read_record(path), "log": log}))
    put(a, "linked", make_record(), "")
    (a / "linked.log").unlink()
    (a / "linked.log").symlink_to(secret)
    put(a, "good", make_record(), "mine")
    merge(a, into=tmp_path / "into")
    logs = {name: data for name, data in files(tmp_path / "into").items() if name.endswith(".log")}
    assert logs == {"good.log": b"mine"}
    assert {record["log"] for record in load_results(tmp_path / "into")} == {None, "good.log"}


def test_folders_inside_of_each_other(tmp_path: Path) -> None:
    put(tmp_path / "all" / "here", "one", make_record())
    put(tmp_path / "all", "two", make_record())
    assert merge(tmp_path / "all" / "here", into=tmp_path / "all") == {}
    assert len(merge(tmp_path / "all", into=tmp_path / "all" / "here")) == 1
    assert len(set(identifiers(tmp_path / "all" / "here"))) == 2


def test_an_older_record_stays_as_it_was(tmp_path: Path) -> None:
    older = min((Path(__file__).parents[2] / "data" / "old_records").glob("*.json"))
    (copy,) = merge(older, into=tmp_path / "into").values()
    assert copy.read_bytes() == older.read_bytes()
    assert copy.name == older.name


def test_a_merge_that_fails_leaves_nothing(tmp_path: Path) -> None:
    for name, log in (("r0", "log"), ("r1", "log"), ("r2", None)):
        put(tmp_path / "a", name, make_record(), log)
    put(tmp_path / "a" / "zone", "last", make_record())
    put(tmp_path / "into", "there", make_record())
    (tmp_path / "into" / "r1.log").write_text("not ours")
    (tmp_path / "into" / "r2.log").write_text("not ours")
    (tmp_path / "into" / "zone").write_text("where a folder should be")
    before = files(tmp_path / "into")
    with pytest.raises(StoreError, match="could not be merged"):
        merge(tmp_path / "a", into=tmp_path / "into")
    assert files(tmp_path / "into") == before
    (tmp_path / "into" / "zone").unlink()
    assert len(merge(tmp_path / "a", into=tmp_path / "into")) == 4


def test_the_command(command: Command) -> None:
    for name in ("a", "b"):
        Store(command.folder / name).save(make_record(), "log")
    (command.folder / "b" / "bad.json").write_text("{")
    dry = command("results", "merge", "a", "b", "--into=c", "--dry-run")
    assert (dry.status, dry.stdout) == (1, "2 records would be added to 'c', 0 there already, 1 damaged\n")
    assert dry.stderr.startswith("left out: b/bad.json: is not JSON")
    assert not (command.folder / "c").exists()
    done = command("results", "merge", "a", "b", "--into=c", "--json")
    told = json.loads(done.stdout)
    assert len(told["added"]) == 2
    assert all((command.folder / added["record"]).is_file() for added in told["added"])
    assert [Path(damaged["file"]).name for damaged in told["damaged"]] == ["bad.json"]
    itself = command("results", "merge", "a", "--into=a")
    assert (itself.status, itself.stdout) == (0, "0 records added to 'a', 1 there already, 0 damaged\n")
    missing = command("results", "merge", "nowhere", "--into=c")
    assert (missing.status, missing.stdout) == (2, "")


def test_a_trace_comes_along_also_under_another_name(tmp_path: Path) -> None:
    a, b, into = tmp_path / "a", tmp_path / "b", tmp_path / "into"
    for folder, content in ((a, b"one"), (b, b"other")):
        folder.mkdir()
        profile = {**unprofiled("only its trace matters here"), "trace": "same.trace.json.gz"}
        (folder / "same.json").write_text(json.dumps({**make_record(profile=profile), "log": None}))
        (folder / "same.trace.json.gz").write_bytes(content)
    merge(a, b, into=into)
    traces = {(into / record["profile"]["trace"]).read_bytes() for record in load_results(into)}
    assert traces == {b"one", b"other"}
    assert merge(a, b, into=into) == {}
