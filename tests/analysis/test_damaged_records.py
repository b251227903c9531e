"""Kept records that were changed at random: every command that reads records uses them or names them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.records.lookup import value_at
from tests.cli.test_any_option import called
from tests.conftest import ROOT
from tests.support.records import make_failed_record, make_record, set_at

SEED, FOLDERS, RECORDS = 12, 8, 6
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e308, float("inf"), float("nan"), 2**63, 10**400, "", "x", "\ud800", "\0", "=1+1",
    "\u0661", [], {}, [[]], {"": None}, [None], "nan", "a" * 3000, list(range(300)),
    "99999-01-01T00:00:00.000000Z", "2026-13-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z",
    "0000-01-01T00:00:00.000000Z", "2026-11-01T00:00:00", "2026-11-01T00:00:00+25:00",
)  # fmt: skip
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("results", "list"),
    ("results", "list", "--sort=-timing.step_seconds.median", "--json"),
    ("results", "show", "last"),
    ("results", "query", "--csv", "select * from records"),
    ("results", "export", "--output=-", "--format=csv"),
    ("results", "merge", "results", "--into=other", "--dry-run"),
    ("results", "prune", "--older-than=1d"),
    ("validate",),
    ("compare", "framework=numpy", "framework=pytorch"),
    ("track", "--json"),
    ("plot", "throughput", "--json"),
    ("report", "--output=page.html", "--force"),
    ("run", "--framework=numpy", "--problem=mnist_mlp", "--dry-run", "--resume"),
)
OF_ONE: tuple[tuple[str, ...], ...] = (("results", "show"), ("validate",), ("rerun", "--env=current"))


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value[:4]) if isinstance(value, list) else ()
    )
    for name, member in members:
        yield (*path, name)
        yield from paths(member, (*path, name))


def damaged(record: dict[str, Any], drawn: random.Random) -> dict[str, Any]:
    """Return a record of which a few members are other values, are gone, or are nested deeply."""
    record = copy.deepcopy(record)
    for _ in range(drawn.choice((1, 1, 2, 5))):
        *parents, last = drawn.choice(list(paths(record)))
        group = record
        for name in parents:
            group = group[name]
        group[last] = drawn.choice(VALUES)
        if drawn.random() < 0.1 and isinstance(group, dict):
            del group[last]
    return record


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refuse(*_: object) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(LocalLauncher, "launch", refuse)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(FOLDERS))
def test_changed_records_are_used_or_named(here: Path, number: int) -> None:
    drawn = random.Random(SEED + number)
    kept = sorted((ROOT / "tests/data/old_records").glob("*.json"))
    sources = [make_record(), make_failed_record(), json.loads(drawn.choice(kept).read_text())]
    (here / "results").mkdir()
    for index in range(RECORDS):
        text = json.dumps(damaged(drawn.choice(sources), drawn), ensure_ascii=drawn.random() < 0.5)
        (here / f"results/{index}.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    for words in COMMANDS:
        check(*words)
    for index, words in enumerate(OF_ONE):
        check(*words, f"results/{index}.json")


def check(*words: str) -> None:
    status, _, told = called(words)
    assert status in range(5), words
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "time", ["99999-01-01T00:00:00.000000Z", "2026-13-01T00:00:00.000000Z", 5, "2026-11-01T00:00:00.000000"]
)
def test_a_record_with_an_impossible_date_is_named(here: Path, time: Any) -> None:
    (here / "results").mkdir()
    for name, changes in (("good", {}), ("bad", {"started_at": time})):
        (here / f"results/{name}.json").write_text(json.dumps({**make_record(), **changes}))
    for words in COMMANDS[:6]:
        status, _, told = called(words)
        # A merge that leaves something out has not gone well.
        assert (status, "bad.json" in told) == (int("merge" in words), True), (words, told)


@pytest.mark.parametrize("depth", [500, 5000, 200_000])
def test_records_that_are_nested_deeply_are_one_sentence(here: Path, depth: int) -> None:
    record = json.dumps({**make_record(), "platform": {"cpu": "DEEP"}})
    (here / "results").mkdir()
    (here / "results/deep.json").write_text(record.replace('"DEEP"', "[" * depth + "]" * depth))
    for words in (*COMMANDS, *((*words, "results/deep.json") for words in OF_ONE)):
        check(*words)


@pytest.mark.parametrize("value", [True, "x", 7, -1e308, ["x"], {"name": 1}, [[1]]])
def test_what_collectors_tell_may_be_anything(here: Path, value: Any) -> None:
    """Collectors and monitors are anybody's, so the schema leaves open what they tell."""
    record = make_record()
    changed = {
        **record,
        "platform": {
            "gpus": [{"name": value}],
            "os": dict.fromkeys(("system", "kernel", "distribution", "libc"), value),
            "host": {"name": value},
            "virtualization": {"machine": value, "container": value},
            "cpu": dict.fromkeys(
                ("model", "cores", "physical_cores", "logical_cores", "usable_cores"), value
            ),
            "memory": {"total_bytes": value},
        },
        "monitors": {"tree_memory": {"peak_bytes": value}, "energy": value, "utilization": value},
    }
    (here / "results").mkdir()
    (here / "results/odd.json").write_text(json.dumps(changed))
    (here / "results/good.json").write_text(json.dumps(make_record(framework__name="pytorch")))
    for words in (*COMMANDS, ("plot", "memory", "--json"), ("results", "show", "results/odd.json")):
        check(*words)
    status, found, told = called(("validate",))
    assert status == 0, found + told


def test_a_log_larger_than_any_is_left_out_of_a_merge(here: Path) -> None:
    (here / "results").mkdir()
    (here / "results/one.json").write_text(json.dumps({**make_record(), "log": "one.log"}))
    with (here / "results/one.log").open("wb") as log:
        log.truncate(1 << 40)  # which takes no room
    status, _, told = called(("results", "merge", "results", "--into=other"))
    assert status == 0, told
    (copy,) = (here / "other").iterdir()
    assert json.loads(copy.read_text())["log"] is None


@pytest.mark.parametrize(
    "words", [("show", "p.py"), ("run", "--framework=numpy", "--problem=p.py", "--dry-run")]
)
def test_a_python_file_larger_than_any_is_one_sentence(here: Path, words: tuple[str, ...]) -> None:
    with (here / "p.py").open("wb") as program:
        program.truncate(1 << 40)
    status, _, told = called(words)
    assert (status, "a Python file has at most 16 MiB" in told) == (2, True)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("timing.samples_seconds", None),
        ("timing.wall_seconds", None),
        ("trust.precision.least_difference", 1e308),
        ("metrics.seconds_to_target", None),
        ("training.hit", None),
    ],
)
def test_a_record_that_contradicts_itself_is_shown(here: Path, path: str, value: Any) -> None:
    kept = [json.loads(file.read_text()) for file in sorted((ROOT / "tests/data/old_records").glob("*.json"))]
    changed = [record for record in [make_record(), *kept] if value_at(record, path) is not None]
    assert changed
    (here / "results").mkdir()
    for record in changed:
        set_at(record, path, value)
        (here / "results/changed.json").write_text(json.dumps(record))
        status, told, said = called(("results", "show", "results/changed.json"))
        assert (status, said) == (0, "")
        assert "changed.json" in told
        assert called(("report", "--output=page.html", "--force"))[0] == 0
