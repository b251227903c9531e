"""The flat table: one row per record, its types, units and descriptions; with and without Arrow the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

from benchmarker.analysis.results import Results, scanning
from benchmarker.analysis.results.collection import load_results
from benchmarker.errors import BenchmarkerError
from tests.conftest import ROOT
from tests.support.kept_records import GROUP, Kept
from tests.support.records import make_failed_record, make_old_record, make_record


def write(folder: Path, *records: Any) -> Path:
    for index, record in enumerate(records):
        (folder / f"{index:03}.json").write_text(json.dumps(record))
    return folder


def various() -> list[dict[str, Any]]:
    """Records that share few columns, and some that disagree about the kind of one."""
    last = make_record(
        seed=10**30,
        platform__cpu={"flags": [], "huge": 10**20, "model": "Ü \ud800 x", "endless": 10**400},
        platform__gpus=[{"name": "A", "memory": {"total_bytes": 1}}, {"name": None}],
    )
    return [
        make_record(problem__parameters={"size": 3, "deep": True, "width": 1}),
        make_record(problem__parameters={"size": "3", "deep": 1, "width": 0.5}, seed=2**62 + 1),
        make_failed_record(problem__parameters={"size": [3, 3], "none": None}),
        make_old_record("1.0"),
        last,
    ]


@pytest.fixture(name="with_index")
def few_files_have_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "FEW", 0)
    monkeypatch.setenv("BENCHMARKER_HOME", str(tmp_path / "home"))


def both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Results, Results]:
    plain = load_results(folder)
    monkeypatch.setattr(scanning, "FEW", 0)
    return plain, load_results(folder)


def assert_same_frame(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Compare words by the numbers that stand for them: word by word, pandas takes ten times as long."""
    assert_frame_equal(numbered(one), numbered(other))
    assert categories(one) == categories(other)


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({n: c.cat.codes if c.dtype == "category" else c for n, c in frame.items()})


def categories(frame: pd.DataFrame) -> dict[Any, Any]:
    kinds = {name: kind for name, kind in frame.dtypes.items() if kind == "category"}
    return {
        name: (kind.ordered, kind.categories.dtype, list(kind.categories)) for name, kind in kinds.items()
    }


def test_types_are_those_of_the_schema(tmp_path: Path) -> None:
    frame = load_results(write(tmp_path, *various())).to_frame()
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds["path"] == kinds["id"] == kinds["command"] == "string"
    assert kinds["status"] == kinds["framework.name"] == kinds["platform.cpu.model"] == "category"
    assert kinds["started_at"] == kinds["ended_at"] == "datetime64[us, UTC]"
    assert kinds["batch_size"] == kinds["seed"] == kinds["memory.peak_bytes"] == "Int64"
    assert kinds["metrics.throughput"] == kinds["metrics.accuracy"] == "float64"
    assert kinds["verification.worst.passed"] == "boolean"
    # The schema leaves these open: all values together decide.
    assert kinds["problem.parameters.width"] == "float64"
    assert kinds["problem.parameters.size"] == kinds["problem.parameters.deep"] == "category"
    assert frame["problem.parameters.size"].dropna().tolist() == ["3", "3", "3, 3"]
    assert kinds["platform.cpu.huge"] == "float64"


def test_what_does_not_fit_its_column_is_missing_there(tmp_path: Path) -> None:
    frame = load_results(write(tmp_path, *various())).to_frame()
    last = frame.iloc[-1]
    assert pd.isna(last["seed"])
    assert last["platform.cpu.model"] == "Ü \\ud800 x"
    assert last["platform.cpu.huge"] == 1e20
    assert last["platform.gpus.0.memory.total_bytes"] == 1
    assert frame["seed"][1] == 2**62 + 1
    assert frame["started_at"][0] == pd.Timestamp("2025-03-01T12:00:00Z")


def test_columns_are_those_that_say_something(tmp_path: Path) -> None:
    frame = load_results(write(tmp_path, make_record())).to_frame()
    assert frame.columns[0] == "path"
    assert "metrics.accuracy" in frame.columns  # null, but of every record
    assert not {"error.message", "learning", "trust", "problem.parameters.none"} & set(frame.columns)
    assert frame.columns.is_unique


def test_units_and_descriptions_go_with_the_columns(tmp_path: Path) -> None:
    results = load_results(write(tmp_path, make_record()))
    frame, table = results.to_frame(), results.to_arrow()
    for name, unit in {
        "timing.step_seconds.median": "s",
        "timing.step_seconds.ci95.low": "s",
        "timing.import_seconds": "s",
        "metrics.throughput": "samples/s",
        "metrics.flops_per_second": "FLOP/s",
        "metrics.joules": "J",
        "metrics.flops_share_of_peak": "1",
        "memory.peak_bytes": "B",
        "memory.predicted.total": "B",
        "problem.flops_per_step": "FLOP",
        "timing.breakdown.parts.forward.median_seconds": "s",
        "trust.evidence.frequency_mhz.first": "MHz",
    }.items():
        assert (name, frame.attrs["units"][name]) == (name, unit)
        assert table.schema.field(name).metadata[b"unit"].decode() == unit
    assert "timing.step_seconds.count" not in frame.attrs["units"]
    assert (
        frame.attrs["descriptions"]["timing.step_seconds.median"]
        == "Median step (50th percentile), in seconds."
    )
    assert table.schema.field("status").metadata == {b"description": b"How the run ended."}
    # pandas takes them along.
    assert frame[frame["batch_size"] > 0].attrs["units"] == frame.attrs["units"]


def test_arrow_has_the_same_types(tmp_path: Path) -> None:
    table = load_results(write(tmp_path, *various())).to_arrow()
    assert table.schema.field("status").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("started_at").type == pa.timestamp("us", "UTC")
    assert table.schema.field("batch_size").type == pa.int64()
    assert table["timing.step_seconds.median"].null_count == 1
    assert len(table) == 5


def test_polars_has_the_same_rows(tmp_path: Path) -> None:
    import polars as pl  # here alone: each process collects this file

    results = load_results(write(tmp_path, *various()))
    frame = results.to_polars()
    assert frame.shape == results.to_frame().shape
    assert frame["framework.name"].to_list() == [record["framework"]["name"] for record in results]
    assert frame.schema["started_at"] == pl.Datetime("us", "UTC")


def test_with_and_without_arrow_the_table_is_the_same(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    plain, indexed = both(write(folder, *various()), monkeypatch)
    assert type(plain._table) is not type(indexed._table)
    assert plain.paths == indexed.paths
    assert_frame_equal(plain.to_frame(), indexed.to_frame())
    assert plain.to_frame().attrs == indexed.to_frame().attrs
    for name in ("started_at", "framework", "seed", "error.type", "problem.parameters.size"):
        assert list(map(str, plain.values(name))) == list(map(str, indexed.values(name)))
    assert plain.to_arrow().equals(indexed.to_arrow(), check_metadata=True)
    some = {"framework": "pytorch", "status": "ok"}
    assert_frame_equal(plain.filter(**some).to_frame(), indexed.filter(**some).to_frame())
    assert_frame_equal(plain[1:3].to_frame(), indexed[1:3].to_frame())
    assert_frame_equal(plain[:0].to_frame(), indexed[:0].to_frame())


@pytest.mark.xdist_group(GROUP)
def test_real_records_make_the_same_table_both_ways(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "FEW", 10**6)
    plain, indexed = load_results(ROOT / "results"), kept.results
    assert type(plain._table) is not type(indexed._table)
    assert len(plain) > 10
    assert not plain.damaged
    assert_same_frame(plain.to_frame(), indexed.to_frame())


def test_without_pyarrow_many_files_become_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_index: None
) -> None:
    write(tmp_path, *various())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    results = load_results(tmp_path)
    assert len(results.to_frame()) == len(results.filter(status="ok").to_frame()) + 1 == 5
    with pytest.raises(
        BenchmarkerError, match=r"needs pyarrow, which is not installed: pip install 'benchmarker-dl\[ana"
    ):
        results.to_arrow()


@pytest.mark.parametrize(
    ("package", "method"), [("pandas", "to_frame"), ("pandas", "samples"), ("polars", "to_polars")]
)
def test_what_is_not_installed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, method: str
) -> None:
    results = load_results(write(tmp_path, make_record()))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BenchmarkerError, match=f"needs {package}, which is not installed: pip install"):
        getattr(results, method)()


def test_words_that_do_not_occur_are_no_categories(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r").mkdir()
    plain, indexed = both(write(tmp_path / "r", *various()), monkeypatch)
    for results in (plain, indexed):
        frame = results.filter(status="ok").to_frame()
        assert frame["status"].cat.categories.tolist() == ["ok"]
        assert frame.groupby("status", observed=False)["id"].count().to_dict() == {"ok": 4}


def test_samples_come_in_long_form(tmp_path: Path) -> None:
    record = make_record(samples=[0.1, 0.2, 0.3], block_steps=4, steps=10)
    record["timing"]["steady_state"]["start"] = 1
    old = make_old_record("1.1")
    results = load_results(write(tmp_path, record, make_failed_record(), old))
    frame = results.samples()
    assert list(frame.columns) == ["id", "sample", "phase", "seconds", "steps", "steady"]
    first = frame[frame["id"] == record["id"]]
    warm, timed = (first[first["phase"] == phase] for phase in ("warm-up", "timed"))
    assert warm["seconds"].tolist() == record["timing"]["warmup_samples_seconds"]
    assert warm["steady"].tolist() == [False] * 5
    assert warm["steps"].tolist() == [1] * 5
    assert timed["seconds"].tolist() == [0.1, 0.2, 0.3]
    assert timed["sample"].tolist() == [0, 1, 2]
    assert timed["steps"].tolist() == [4, 4, 2]
    assert timed["steady"].tolist() == [False, True, True]
    rest = frame[frame["id"] != record["id"]]
    assert rest["id"].unique().tolist() == [old["id"]]
    assert rest["steady"].isna().all()
    assert len(rest) == 60
    assert results.filter(status="crashed").samples().empty


def test_a_repeated_name_or_a_strange_one_breaks_no_table(tmp_path: Path) -> None:
    record = make_record(platform__cpu={"a.b": 1, "a": {"b": 2}, "": 3, "#name": 4, "path": 5, "\ud800": 6})
    record["path"] = record["#name"] = "mine"
    frame = load_results(write(tmp_path, record, make_record())).to_frame()
    assert frame["platform.cpu.a.b"].tolist()[0] == 2
    assert frame["platform.cpu.path"].tolist()[0] == 5
    assert frame["path"].tolist() == [str(tmp_path / "000.json"), str(tmp_path / "001.json")]


def test_a_record_with_too_many_values_is_damaged(tmp_path: Path) -> None:
    many = make_record(platform__cpu={str(number): number for number in range(6000)})
    deep: Any = 1
    for _ in range(900):
        deep = {"a": deep}
    results = load_results(
        write(tmp_path, make_record(), make_record(platform__cpu=deep), make_record(), many)
    )
    assert len(results) == 2
    assert results.to_frame()["timing.steps"].tolist() == [60, 60]
    assert sorted(results.damaged.values()) == [
        "has more than 5000 values, so it is not a record",
        "is nested too deeply to be a record",
    ]
