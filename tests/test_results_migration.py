"""Old records read like new ones, and nothing is made up for them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarker.results.migration import newest
from benchmarker.results.reading import DamagedError
from benchmarker.schema import NEWEST, validate
from benchmarker.store import load_results, read_record
from tests.conftest import ROOT
from tests.records import make_failed_record, make_old_record, make_record, set_at

OLDER = sorted((ROOT / "tests" / "older").rglob("*.json"))
GROUPS_OF_MAPS = {
    "platform",
    "collectors",
    "monitors",
    "specification",
    "keys",
    "parameters",
    "options",
    "libraries",
}


def members(record: Mapping[str, Any], before: str = "") -> set[str]:
    """Return the names of all members that every record of a version has."""
    found = set()
    for name, value in record.items():
        found.add(before + name)
        if isinstance(value, Mapping) and name not in GROUPS_OF_MAPS:
            found |= members(value, f"{before}{name}.")
    return found


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_old_record_has_every_member_of_the_newest(version: str) -> None:
    new = make_record()
    for name in ("trust", "replication", "peaks"):
        new[name] = None
    for name in ("breakdown", "overhead", "steady_state"):
        new["timing"][name] = None
    new["memory"]["predicted"] = new["timing"]["step_seconds"]["percentiles_reason"] = {}
    old = make_old_record(version)
    before = copy.deepcopy(old)
    migrated = newest(old)
    assert members(new) - members(migrated) == set()
    assert migrated["schema_version"] == NEWEST
    assert old == before


@pytest.mark.parametrize("path", OLDER, ids=lambda path: path.name)
def test_a_real_record_of_the_first_version(path: Path) -> None:
    (record,) = load_results(path)
    written = read_record(path)
    assert (written["schema_version"], record["schema_version"]) == ("1.0", NEWEST)
    assert record["timing"]["samples_seconds"] == written["timing"]["samples_seconds"]
    assert record["timing"]["steps"] == len(written["timing"]["samples_seconds"])
    assert (record["trust"], record["learning"], record["replication"]) == (None, None, None)
    assert record["inputs"]["kind"] == "resident"
    assert record["comparable"]["keys"]["problem"] == written["problem"]["name"]
    assert record["specification"]["framework"] == written["framework"]["name"]


def test_what_was_never_measured_is_null_and_not_zero() -> None:
    migrated = newest(make_old_record("1.0"))
    assert migrated["metrics"]["joules"] is None
    assert migrated["timing"]["wall_seconds"] is None
    assert migrated["timing"]["breakdown"] is None
    assert migrated["execution"]["worker_seconds"] is None
    assert migrated["acceptance"] is None
    assert migrated["peaks_reason"] == "records of schema 1.0 do not tell"


def test_a_failed_old_record_keeps_its_nulls() -> None:
    old = make_failed_record()
    for name in ("learning", "operator", "profile", "transformations", "trust"):
        del old[name]
    old["schema_version"] = "1.1"
    migrated = newest(old)
    assert migrated["timing"]["samples_seconds"] is None
    assert migrated["timing"]["step_seconds"] is None
    assert (migrated["timing"]["steps"], migrated["trust"]) == (None, None)


@pytest.mark.parametrize(
    ("version", "since"),
    [
        ("1.2", ("learning", "operator", "profile", "transformations")),
        ("1.3", ("operator", "profile", "transformations")),
    ],
)
def test_a_record_of_a_version_before_only_lacks_what_came_since(
    version: str, since: tuple[str, ...]
) -> None:
    old = make_record(schema_version=version)
    for name in since:
        del old[name]
    assert validate(old) == []
    migrated = newest(old)
    assert validate(migrated) == []
    assert migrated == {**old, "schema_version": NEWEST, **dict.fromkeys(since)}


def test_a_new_record_comes_back_itself() -> None:
    record = make_record()
    assert newest(record) is record


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4"])
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("framework", None, "'framework'|wrong type"),
        ("framework", {}, "missing|'name'"),
        ("timing", 5, "'timing'|wrong type"),
        ("timing", [], "'timing'|wrong type"),
        ("timing.samples_seconds", {}, "list|missing"),
        ("timing.step_seconds", "fast", "'timing.step_seconds' must be an object"),
        ("device", "cpu", "'device'|wrong type"),
        ("metrics", None, "'metrics' must not be null"),
    ],
)
def test_what_has_another_shape_is_damaged(version: str, name: str, value: Any, reason: str) -> None:
    record = make_record() if version > "1.1" else make_old_record(version)
    record["schema_version"] = version
    set_at(record, name, value)
    with pytest.raises(DamagedError, match=reason):
        newest(record)


def test_a_record_that_lacks_a_member_is_skipped_and_named(tmp_path: Path) -> None:
    record = make_record()
    del record["metrics"]["joules"]
    (tmp_path / "a.json").write_text(json.dumps(record))
    (tmp_path / "b.json").write_text(json.dumps({"schema_version": "1.4"}))
    results = load_results(tmp_path)
    assert len(results) == 0
    reasons = {path.name: reason for path, reason in results.damaged.items()}
    assert "is not a record of schema 1.4: 'metrics.joules' is missing" in reasons["a.json"]
    assert "is missing" in reasons["b.json"]


def test_old_and_new_records_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(make_old_record("1.0")))
    (tmp_path / "b.json").write_text(json.dumps(make_record()))
    frame = load_results(tmp_path).to_frame()
    assert frame["metrics.joules"].isna().tolist() == [True, False]
    assert frame["timing.steps"].tolist() == [60, 60]
