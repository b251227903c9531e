"""Folders as they come: damaged files, links, pipes; nothing is followed out of them, nothing stops the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarker.analysis.results import scanning
from benchmarker.analysis.results.collection import load_results
from benchmarker.errors import StoreError, UsageError
from benchmarker.records import reading
from benchmarker.records.reading import parse_json
from benchmarker.records.schema import NEWEST
from benchmarker.records.store import Store, iter_records, record_files
from tests.support.records import make_record, set_at


@pytest.fixture(name="folder")
def made_folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path / "in"


@pytest.fixture(name="indexed", params=[False, True], ids=["at once", "by index"])
def with_and_without_index(
    request: pytest.FixtureRequest, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "FEW", 0 if request.param else 1000)


def reasons(folder: Path) -> dict[str, str]:
    return {path.name: reason for path, reason in load_results(folder).damaged.items()}


def test_what_is_no_record_is_named_and_the_rest_is_read(folder: Path, indexed: None) -> None:
    whole = Store(folder).save(make_record()).read_bytes()
    (folder / "cut.json").write_bytes(whole[:-100])
    (folder / "folder.json").mkdir()
    (folder / "older.json").write_bytes(whole.replace(f'"{NEWEST}"'.encode(), b'"0.9"'))
    (folder / "nan.json").write_bytes(whole.replace(b'"seed": 42', b'"seed": -Infinity'))
    os.mkfifo(folder / "pipe.json")
    Store(folder / "folder.json").save(make_record())
    results = load_results(folder)
    assert len(results) == len(list(results)) == len(results.to_frame()) == 2
    found = reasons(folder)
    assert set(found) == {"cut.json", "folder.json", "older.json", "nan.json", "pipe.json"}
    assert found["folder.json"] == "is a folder"
    assert found["pipe.json"] == "cannot be read: Not a file"
    assert "never existed" in found["older.json"]
    assert found["nan.json"] == "is not JSON: -Infinity is not a JSON number"
    assert found["cut.json"].startswith("is not JSON: ")


IMPOSSIBLE = [
    ("timing.step_seconds.median", -1.0, "must be at least 0, got -1.0"),
    ("timing.step_seconds.median", "fast", "must be a number, got "),
    ("timing.import_seconds", True, "must be a number or null, got true"),
    ("timing.samples_seconds", [0.1, -0.1], "[1] must be at least 0, got -0.1"),
    ("timing.step_seconds.ci95", [0.1], "must have at least 2 item(s)"),
    (
        "timing.steady_state.segments",
        [{"start": 0, "end": "late", "median_seconds": 1}],
        "must be a whole number",
    ),
    ("metrics.throughput", -3, "must be at least 0, got -3"),
    ("metrics.accuracy", 1.5, "must be at most 1, got 1.5"),
    ("metrics.made_up", "much", "must be a number or null"),
    ("memory.peak_bytes", 1.5, "must be a whole number or null, got 1.5"),
    ("memory.predicted", {"total": -1}, "must be at least 0, got -1"),
    ("batch_size", 0, "must be at least 1, got 0"),
    ("status", "fine", "must be one of "),
    ("started_at", "yesterday", "must match "),
    ("trust.grade", "spotless", "must be one of "),
    ("verification.tensors", [{"name": "loss"}], "is missing"),
    ("learning", {"steps": [0], "seconds": [0.1], "losses": [1.0]}, "must be at least 1, got 0"),
]


@pytest.mark.parametrize("version", ["1.3", NEWEST])
@pytest.mark.parametrize(("name", "value", "said"), IMPOSSIBLE, ids=lambda value: str(value)[:30])
def test_a_record_with_an_impossible_value_is_named_and_left_out(
    folder: Path, indexed: None, version: str, name: str, value: object, said: str
) -> None:
    record = make_record(schema_version=version)
    set_at(record, name, value)
    (folder / "wrong.json").write_text(json.dumps(record))
    Store(folder).save(make_record())
    results = load_results(folder)
    assert len(results) == 1
    found = reasons(folder)["wrong.json"]
    assert found.startswith(f"is not a valid record: $.{name}")
    assert said in found


def test_values_that_the_schema_allows_are_read(folder: Path, indexed: None) -> None:
    """Whole numbers where any will do and the other way round, and members that nobody knows."""
    for index, (name, value) in enumerate(
        [
            ("timing.step_seconds.median", 1),
            ("batch_size", 8.0),
            ("timing.made_up", "x"),
            ("metrics.made_up", 5),
            ("verification.tensors", []),
            ("profile", None),
        ]
    ):
        record = make_record()
        set_at(record, name, value)
        (folder / f"{index}.json").write_text(json.dumps(record))
    assert (reasons(folder), len(load_results(folder))) == ({}, 6)


def test_no_link_is_followed_out_of_the_folder(folder: Path, indexed: None) -> None:
    secret = Store(folder.parent / "out").save(make_record())
    inside = Store(folder).save(make_record())
    (folder / "file.json").symlink_to(secret)
    (folder / "again.json").symlink_to(inside)
    (folder / "dangling.json").symlink_to(folder / "nothing")
    (folder / "below").symlink_to(secret.parent, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "notes.txt").symlink_to(secret)
    results = load_results(folder)
    assert results.paths == (inside,)
    assert reasons(folder) == dict.fromkeys(
        ["file.json", "again.json", "dangling.json", "below", "loop"],
        "is a symbolic link, and those are not followed",
    )
    assert record_files(folder) == [path for path, _ in iter_records(folder)] == [inside]


def test_a_file_that_becomes_a_link_is_not_read(folder: Path, indexed: None) -> None:
    secret = Store(folder.parent / "out").save(make_record())
    inside = Store(folder).save(make_record())
    results = load_results(folder)
    inside.unlink()
    inside.symlink_to(secret)
    with pytest.raises(StoreError, match="cannot be read"):
        results[0]


def test_what_the_user_names_may_be_a_link(folder: Path) -> None:
    path = Store(folder).save(make_record())
    (folder.parent / "link.json").symlink_to(path)
    (folder.parent / "linked").symlink_to(folder)
    assert (
        load_results(folder.parent / "link.json")[0]["id"] == load_results(folder.parent / "linked")[0]["id"]
    )
    with pytest.raises(UsageError, match="exists"):
        load_results(folder / "nothing.json")


def test_what_may_not_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [Store(folder).save(make_record()) for _ in range(2)]
    (folder / "below").mkdir(mode=0)
    folder.chmod(0o755)
    paths[0].chmod(0)
    monkeypatch.chdir(folder)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may read everything
    try:
        results = load_results(".")
    finally:
        os.seteuid(user)
    assert [path.name for path in results.paths] == [paths[1].name]
    assert {path.name: reason for path, reason in results.damaged.items()} == {
        paths[0].name: "cannot be read: Permission denied",
        "below": "cannot be read: Permission denied",
    }


def test_a_file_that_is_gone_meanwhile_is_told(folder: Path, indexed: None) -> None:
    for _ in range(3):
        Store(folder).save(make_record())
    results = load_results(folder)
    results.paths[1].unlink()
    assert len(load_results(folder)) == 2
    assert results.paths[2].name.endswith(f"{results[2]['id'][-8:]}.json")
    with pytest.raises(StoreError, match="No such file"):
        list(results)


def test_a_file_too_large_to_be_a_record_is_not_read(folder: Path, indexed: None) -> None:
    Store(folder).save(make_record())
    with open(folder / "large.json", "wb") as stream:
        stream.truncate(reading.MAX_FILE_BYTES + 1)
    assert reasons(folder) == {"large.json": "is larger than 256 MiB, so it is not read"}


def test_names_in_any_bytes_are_read(folder: Path, indexed: None) -> None:
    path = Store(folder).save(make_record())
    strange = os.fsencode(folder) + b"/\xff\n'.json"
    Path(os.fsdecode(strange)).write_bytes(path.read_bytes())
    results = load_results(folder)
    assert len(results) == len(list(results)) == 2
    assert results.to_frame()["path"].tolist()[1] == f"{folder}/\\xff\n'.json"


def test_hidden_files_and_folders_are_left_out(folder: Path, indexed: None) -> None:
    path = Store(folder).save(make_record())
    Store(folder / ".git").save(make_record())
    (folder / ".partial.json").write_text("{")
    results = load_results(folder)
    assert (results.paths, dict(results.damaged)) == ((path,), {})


def test_records_come_in_the_order_of_folders_and_names(folder: Path, indexed: None) -> None:
    names = ["b/x.json", "a.json", "b.json", "a/z.json", "a-b.json"]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(
            json.dumps({**make_record(), "id": f"the-one-of-{name}".replace("/", "_")})
        )
    results = load_results(folder)
    assert list(results.paths) == sorted(folder / name for name in names)
    expected = [f"the-one-of-{path.relative_to(folder)}".replace("/", "_") for path in results.paths]
    assert [record["id"] for record in results] == results.to_frame()["id"].tolist() == expected


def test_paths_begin_as_the_folder_was_named(
    folder: Path, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Store(folder / "below").save(make_record())
    monkeypatch.chdir(folder)
    for named, expected in ((".", "below"), ("./below", "below"), (folder, f"{folder}/below")):
        assert list(map(str, load_results(named).paths)) == [f"{expected}/{path.name}"]


@pytest.mark.parametrize(
    "text", ["[1, NaN]", '{"a": Infinity}', "", "{", "[1,]", "\ufeff{}", "[" * 100_000, "1" * 5000, "'a'"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- the words are those of the parser
        parse_json(text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, true, "ü"]}', {"a": [1, 2.5, None, True, "ü"]}),
        ('"\\udc80"', "\udc80"),
        ("1e-400", 0.0),
    ],
)
def test_json_is_read(text: str, value: object) -> None:
    assert parse_json(text.encode()) == value


def test_a_log_in_an_unknown_encoding_is_no_damage(folder: Path, indexed: None) -> None:
    record = make_record(platform__host={"name": "na\udc80me"})
    Store(folder).save(record)
    results = load_results(folder)
    assert results[0]["platform"]["host"]["name"] == "na\udc80me"
    assert results.to_frame()["platform.host.name"].tolist() == ["na\\udc80me"]
