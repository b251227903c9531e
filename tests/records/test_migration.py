"""Old records read like new ones, and nothing is made up for them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.results.collection import load_results
from benchmarker.records.migration import newest
from benchmarker.records.reading import DamagedError
from benchmarker.records.schema import NEWEST, validate
from benchmarker.records.schema.versions import VERSIONS
from benchmarker.records.store import read_record
from tests.conftest import ROOT
from tests.support.records import PRESSURE, make_failed_record, make_old_record, make_record, set_at

OLDER = sorted((ROOT / "tests" / "data" / "old_records").glob("2026-11-20*.json"))
SINCE_1_5 = sorted((ROOT / "tests" / "data" / "old_records").glob("2026-11-2[3-9]*.json"))
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
    new["execution"]["process"] = None
    new["framework"]["installed_version"] = None
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
        ("1.4", ()),
    ],
)
def test_a_record_of_a_version_before_only_lacks_what_came_since(
    version: str, since: tuple[str, ...]
) -> None:
    old = before_1_5(make_record(schema_version=version))
    for name in since:
        del old[name]
    assert validate(old) == []
    migrated = newest(old)
    assert validate(migrated) == []
    trust = {**old["trust"], "findings": [], "precision": make_record()["trust"]["precision"], "speed": None}
    added = {
        "trust": trust,
        "execution": {**old["execution"], "process": None},
        "framework": {**old["framework"], "installed_version": None},
        "timing": {**old["timing"], "windows": None},
    }
    assert migrated == {**old, "schema_version": NEWEST, **dict.fromkeys(since), **added}


def before_1_5(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose one grade was of all that spoke against it."""
    for name in ("findings", "precision", "speed"):
        del record["trust"][name]
    del record["execution"]["process"], record["framework"]["installed_version"], record["timing"]["windows"]
    return record


def test_the_grade_of_an_older_record_becomes_two() -> None:
    old = before_1_5(make_record(schema_version="1.4"))
    waits = {**PRESSURE, "kind": "run_delay", "severity": "contaminated"}
    old["trust"].update(grade="contaminated", reasons=[waits])
    own = {"run_delay_seconds": 1.5, "run_delay_share": 0.2, "foreign_cores": 0.0}
    old["trust"]["evidence"].update(own)
    migrated = newest(old)
    assert validate(migrated) == []
    assert (migrated["trust"]["grade"], migrated["trust"]["reasons"]) == ("clean", [])
    assert [finding["kind"] for finding in migrated["trust"]["findings"]] == ["oversubscribed"]
    assert migrated["trust"]["precision"]["level"] == "within one process"


@pytest.mark.parametrize("path", SINCE_1_5, ids=lambda path: path.name[:17])
def test_what_a_record_says_of_its_trust_since_1_5_is_left_as_it_is(path: Path) -> None:
    record = read_record(path)
    found = record["trust"]["findings"]
    own = [{**finding, "text": f"as recorded: {finding['text']}"} for finding in found]
    record["trust"] = {**record["trust"], "findings": own}
    trust = newest(record)["trust"]
    for name in ("grade", "reasons", "findings", "precision"):
        assert trust[name] == record["trust"][name], name


def test_what_was_asked_of_an_optimizer_stays_apart_from_what_is_known_of_it() -> None:
    record = make_record(schema_version="1.6")
    asked = {"kind": "momentum", "learning_rate": 0.01}
    record["specification"]["optimizer"] = asked
    constants = dict.fromkeys(("momentum", "beta1", "beta2", "epsilon", "weight_decay", "decay"), 0.5)
    record["optimizer"] = {**asked, **constants, "further": {}, "digest": None, "variant": "native"}
    assert newest(record)["specification"]["optimizer"] == asked


def test_a_new_record_comes_back_itself() -> None:
    record = make_record()
    assert newest(record) is record


@pytest.mark.parametrize("version", VERSIONS)
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
    (tmp_path / "b.json").write_text(json.dumps({"schema_version": NEWEST}))
    results = load_results(tmp_path)
    assert len(results) == 0
    reasons = {path.name: reason for path, reason in results.damaged.items()}
    assert f"is not a record of schema {NEWEST}: 'metrics.joules' is missing" in reasons["a.json"]
    assert "is missing" in reasons["b.json"]


def test_old_and_new_records_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(make_old_record("1.0")))
    (tmp_path / "b.json").write_text(json.dumps(make_record()))
    frame = load_results(tmp_path).to_frame()
    assert frame["metrics.joules"].isna().tolist() == [True, False]
    assert frame["timing.steps"].tolist() == [60, 60]
