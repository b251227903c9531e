"""What spreadsheets would run is text in CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarker.analysis.results.collection import load_results
from benchmarker.analysis.results.export import defused, export
from benchmarker.records.store import Store
from tests.support.records import make_record


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("@sum(a)", "'@sum(a)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        (" =1", "' =1"),
        ("\uff1d1", "'\uff1d1"),
        ("-1.5", "-1.5"),
        ("+2e-3", "+2e-3"),
        ("-1.5x", "'-1.5x"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_beginnings_of_formulas(text: str, cell: str) -> None:
    assert defused(text) == cell


def test_an_export_has_no_formula(tmp_path: Path) -> None:
    record = make_record(
        device__name="=cmd|' /C calc'!A0",
        platform__cpu={"=model": "@x", "load": "-1.5"},
        problem__source="-2 + 3",
    )
    folder = tmp_path / "results"
    Store(folder).save(record)
    export(load_results(folder), tmp_path / "out.csv", "csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["device.name"] == "'=cmd|' /C calc'!A0"
    assert row["platform.cpu.=model"] == "'@x"
    assert row["platform.cpu.load"] == "-1.5"
    assert not [cell for cell in (*row, *row.values()) if cell and defused(cell) != cell]
