"""The picture of where an operator differs from float64."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.analysis.charts import chart, draw
from benchmarker.analysis.page.interactive.figure import draw as draw_for_page
from benchmarker.api.chart import Chart, Heat
from benchmarker.errors import UsageError
from tests.analysis.text.test_operators import operator, record
from tests.support.records import make_record

ROUNDOFF = 2.0**-24


def verified(framework: str, cells: list[list[float | None]], rows: int, columns: int) -> dict[str, Any]:
    """A record of an operator with a map, in units of roundoff of float32."""
    found = operator()
    scaled = [[None if value is None else value * ROUNDOFF for value in row] for row in cells]
    norms = dict.fromkeys(
        f"{norm}_{kind}" for norm in ("l1", "l2", "max") for kind in ("absolute", "relative")
    )
    worst = {"index": [0, 0], "expected": 1.0, "found": 1.0}
    found["tensors"][0]["errors"] = {**norms, "compared": rows * columns, "worst": worst}
    found["tensors"][0]["difference_map"] = {"rows": rows, "columns": columns, "cells": scaled}
    return record(framework, 10, 0.002, operator=found)


def heats(shown: Chart) -> list[Heat]:
    return [panel.heat for panel in shown.panels if panel.heat is not None]


def test_each_framework_is_a_panel_on_one_scale() -> None:
    records = [
        verified("numpy", [[1.0, 2.0], [None, 4.0]], 5, 6),
        verified("pytorch", [[8.0, 0.0]] * 2, 5, 6),
    ]
    shown = chart("differences", records)
    assert sorted(panel.title for panel in shown.panels) == ["numpy", "pytorch"]
    by_name = dict(zip((panel.title for panel in shown.panels), heats(shown)))
    assert by_name["numpy"].values == ((1.0, 2.0), (None, 4.0))
    assert {heat.limits for heat in heats(shown)} == {(0.0, 8.0)}
    assert by_name["numpy"].rows == ("0", "3")  # five rows in two cells: 0 to 2, and 3 and 4
    assert by_name["numpy"].columns == ("0", "3")
    assert "Output 'gemm', 5 rows of 6" in shown.caption
    assert "30 in all" in shown.caption


def test_runs_without_a_map_are_left_out_and_told() -> None:
    shown = chart(
        "differences", [verified("numpy", [[1.0]], 1, 1), record("pytorch", 10, 0.001), make_record()]
    )
    assert [panel.title for panel in shown.panels] == ["numpy"]
    assert "2 runs of no operator or not verified" in shown.caption


def test_nothing_to_show_is_a_sentence() -> None:
    with pytest.raises(
        UsageError, match="needs runs of an operator that were verified, and none of 1 records"
    ):
        chart("differences", [make_record()])


def test_both_libraries_draw_it() -> None:
    cells: list[list[float | None]] = [[float(i + j) for j in range(32)] for i in range(32)]
    shown = chart("differences", [verified("numpy", cells, 320, 640)])
    axes = draw("differences", [verified("numpy", cells, 320, 640)]).axes
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["0", "80", "160", "240"]
    figure = draw_for_page(shown)
    assert '"zmax": 62' in repr(figure).replace("'", '"')
