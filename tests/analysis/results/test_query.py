"""SQL over records reads them, and nothing else; exports are whole, and replace nothing by mistake."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarker.analysis.results import Results
from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.results.export import FORMATS, export, format_of
from benchmarker.analysis.results.query import _LOCKED, query
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.records.store import Store
from tests.conftest import Command
from tests.support.records import make_failed_record, make_record


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Three records, one of them a failure."""
    store = Store(tmp_path / "results")
    store.save(make_record(framework__name="mxnet", framework__version="1.9.1"))
    store.save(make_record([0.01] * 5 + [0.02] * 25))
    store.save(make_failed_record())
    return load_results(store.folder)


def rows(results: Results, sql: str) -> list[tuple[Any, ...]]:
    return list(query(results, sql).rows)


def test_records_are_a_table(results: Results) -> None:
    answer = query(results, 'select status, count(*) "n" from records group by status order by n desc')
    assert answer.names == ("status", "n")
    assert answer.numeric == (False, True)
    assert [row[1] for row in answer.rows] == [2, 1]
    (median,) = rows(
        results, 'select "timing.step_seconds.median" from records where "framework.name" = \'mxnet\''
    )[0]
    assert median == results.filter(framework="mxnet")[0]["timing"]["step_seconds"]["median"]


def test_samples_are_another(results: Results) -> None:
    sql = "select sum(s.seconds) from SAMPLES s join records r using (id) where r.status = 'ok' and phase = 'timed'"
    total = sum(sum(record["timing"]["samples_seconds"]) for record in results.filter(status="ok"))
    assert rows(results, sql) == [(pytest.approx(total),)]


def test_values_are_plain(results: Results) -> None:
    sql = (
        "select 1::hugeint, 1.5::decimal(4,2), 'nan'::double, 'inf'::float, null, true, [1, 2], {'a': 'nan'::double}, "
        "timestamp '2026-01-02 03:04:05', interval 1 day, 'x'::blob"
    )
    ((*values, span, blob),) = rows(results, sql)
    assert values == [1, 1.5, None, None, None, True, [1, 2], {"a": None}, "2026-01-02T03:04:05.000000Z"]
    assert isinstance(span, str)
    assert isinstance(blob, str)
    ((started,),) = rows(results, "select max(started_at) from records")
    assert started == max(record["started_at"] for record in results)


@pytest.mark.parametrize(
    "sql", ["describe records", "summarize records", "from records limit 1", "values (1)"]
)
def test_what_reads_is_allowed(results: Results, sql: str) -> None:
    assert rows(results, sql)


OUTSIDE = (
    "select * from read_text('{file}')",
    "select * from read_csv('{file}')",
    "select * from read_blob('{file}')",
    "select * from read_json('{file}')",
    "select * from '{file}'",
    "select * from glob('{folder}/*')",
    "select * from sniff_csv('{file}')",
    "select * from parquet_scan('{file}')",
    "copy records to '{folder}/out.csv'",
    "copy (select 1) to '{folder}/out.parquet'",
    "export database '{folder}/out'",
    "import database '{folder}'",
    "attach '{folder}/out.db'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "set memory_limit = '100GB'",
    "reset lock_configuration",
    "pragma enable_profiling",
    "set profile_output = '{folder}/out.json'",
    "create table t as select 1",
    "insert into records select * from records",
    "drop view records",
    "select * from results",  # a variable of the program, which DuckDB could take for a table
    "select * from duckdb_secrets()",
    "select getenv('HOME')",
    "select 1; copy records to '{folder}/out.csv'",
    "explain analyze copy records to '{folder}/out.csv'",
)


@pytest.mark.parametrize("sql", OUTSIDE)
def test_a_query_reaches_nothing_else(results: Results, tmp_path: Path, sql: str) -> None:
    (tmp_path / "data.csv").write_text("a\n1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        rows(results, sql.format(file=tmp_path / "data.csv", folder=tmp_path))
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_query_has_no_endless_memory(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _LOCKED["memory_limit"].endswith("GB")
    monkeypatch.setitem(_LOCKED, "memory_limit", "50MB")  # which is full in a tenth of the time
    with pytest.raises(UsageError, match="Out of Memory"):
        rows(results, "select list(a.range || b.range) from range(100000) a, range(100000) b")


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("selct 1", "syntax error"),
        ("select nope from records", '"nope" not found'),
        ("", "must be one statement, got 0"),
        ("select error('boom')", "boom"),
        ("select 1 from nowhere", "the tables 'records' and 'samples', and there is no 'nowhere'"),
    ],
)
def test_a_fault_is_one_sentence(results: Results, sql: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        rows(results, sql)
    assert text in str(caught.value)
    assert "LINE 1" not in str(caught.value)


def test_what_is_not_installed_is_named(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(BenchmarkerError, match=r"needs duckdb, .* 'benchmarker-dl\[analysis\]'"):
        query(results, "select 1")


# --- export ---------------------------------------------------------------------------------------


def test_parquet_is_the_flat_table(results: Results, tmp_path: Path) -> None:
    export(results, tmp_path / "out.parquet", "parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == results.to_arrow().column_names
    assert table["id"].to_pylist() == [record["id"] for record in results]
    assert pa.types.is_timestamp(table.schema.field("started_at").type)


def test_csv_is_the_flat_table(results: Results, tmp_path: Path) -> None:
    export(results, tmp_path / "out.csv", "csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        read = list(csv.DictReader(stream))
    assert [row["id"] for row in read] == [record["id"] for record in results]
    medians = [record["timing"]["step_seconds"] for record in results]
    assert [row["timing.step_seconds.median"] for row in read] == [
        str(m["median"]) if m else "" for m in medians
    ]
    started = datetime.fromisoformat(read[0]["started_at"].replace("Z", "+00:00"))
    assert started == datetime(2025, 3, 1, 12, tzinfo=timezone.utc)


def test_json_lines_are_whole_records(results: Results, tmp_path: Path) -> None:
    export(results, tmp_path / "out.jsonl", "jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert list(map(json.loads, lines)) == list(results)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_is_replaced_only_when_asked(results: Results, tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"out.{kind}"
    target.write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        export(results, target, kind)
    assert target.read_text() == "mine"
    export(results, target, kind, replace=True)
    assert target.stat().st_size > 100
    with pytest.raises(UsageError, match="is a folder"):
        export(results, tmp_path, kind, replace=True)


def test_an_export_that_fails_leaves_what_was_there(results: Results, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    results.paths[-1].write_text("{")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BenchmarkerError):
        export(results, target, "jsonl", replace=True)
    assert target.read_text() == "mine"
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UsageError, match="goes to a folder that exists, got '"):
        export(results, tmp_path / "nowhere" / "out.csv", "csv")


def test_the_format_is_named_or_the_ending() -> None:
    assert [format_of(f"a.{kind}", None) for kind in FORMATS] == list(FORMATS)
    assert format_of("a.CSV", None) == "csv"
    assert format_of("-", "csv") == format_of("a.parquet", "csv") == "csv"
    for name in ("-", "a.txt", "csv"):
        with pytest.raises(UsageError, match=r"must end in one of \.csv, \.parquet, \.jsonl"):
            format_of(name, None)


def test_the_commands(command: Command) -> None:
    store = Store(command.folder / "results")
    for name in ("mxnet", "pytorch"):
        store.save(make_record(framework__name=name))
    sql = 'select "framework.name" as name, 1.5 as x, null as nothing from records order by name'
    table = command("results", "query", sql)
    assert [line.split() for line in table.stdout.splitlines()[2:]] == [
        ["mxnet", "1.5", "-"],
        ["pytorch", "1.5", "-"],
    ]
    lines = command("results", "query", sql, "--json", "framework=mxnet")
    assert lines.records == [{"name": "mxnet", "x": 1.5, "nothing": None}]
    assert command("results", "query", sql, "--csv").stdout == "name,x,nothing\nmxnet,1.5,\npytorch,1.5,\n"
    wrong = command("results", "query", "copy records to 'out.csv'")
    assert (wrong.status, wrong.stdout) == (2, "")
    assert wrong.stderr == "benchmarker: a query must read, with SELECT, got one of kind COPY\n"

    whole = command("results", "export", "framework=mxnet", "-o", "-", "--format=jsonl")
    assert [record["framework"]["name"] for record in whole.records] == ["mxnet"]
    told = command("results", "export", "--output=out.parquet", "framework=mxnet", "--json")
    assert json.loads(told.stdout) == {"file": "out.parquet", "format": "parquet", "records": 1}
    again = command("results", "export", "--output=out.parquet")
    assert again.status == 2
    assert "--force replaces it" in again.stderr
