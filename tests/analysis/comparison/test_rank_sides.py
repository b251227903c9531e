"""Runs of other ranks, schemes, exchanges, networks and scalings are never one number, and never held to each other."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from benchmarker.analysis.comparison import compare
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.text.experiment_table import comparison_table
from benchmarker.errors import UsageError
from benchmarker.experiment.keys import canonical
from benchmarker.records.cells import cells
from benchmarker.records.keys import comparison_factors
from tests.support.rank_records import several, single


def fallen_back() -> dict[str, Any]:
    """A run that asked for no network, on a machine that lets it have none of its own."""
    record = several(wire_bytes=None)
    record["distributed"]["network"] = {"kind": "shared", "rate": None, "reason": "no namespaces"}
    return record


UNLIKE = {
    "one": single(),
    "two": several(),
    "four": several(ranks=4),
    "scheme": several(scheme="sharded"),
    "constant": several(scheme="averaging/4"),
    "other constant": several(scheme="averaging/8"),
    "exchange": several(exchange="native"),
    "emulated": several(network="100mbit"),
    "other rate": several(network="1gbit"),
    "memory": several(network="shared"),
    "fallen back": fallen_back(),
    "weak": several(scaling="weak"),
}


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(UNLIKE, 2)])
def test_unlike_runs_are_never_one_cell(one: str, other: str) -> None:
    records = [UNLIKE[one], UNLIKE[other]]
    keys = {canonical([r["comparable"]["hash"], comparison_factors(r)]) for r in records}
    assert len(keys) == len(cells(records)) == 2


def test_processes_of_the_same_run_are_one_cell() -> None:
    records = [several(repetition=number) for number in range(3)]
    keys = {canonical([r["comparable"]["hash"], comparison_factors(r)]) for r in records}
    assert len(keys) == len(cells(records)) == 1


@pytest.mark.parametrize("other", ["one", "four", "scheme", "exchange", "emulated"])
def test_sides_of_other_ranks_or_schemes_are_refused_by_name(other: str) -> None:
    sides = [Side(name, (UNLIKE[name],)) for name in ("two", other)]
    expected = {"one": "ranks", "four": "ranks", "emulated": "network"}.get(other, other)
    with pytest.raises(UsageError, match=expected):
        compare(sides)


def test_tables_have_columns_of_what_differs() -> None:
    text = comparison_table(list(UNLIKE.values()), width=300)
    for word in (
        "ranks",
        "scheme",
        "exchange",
        "scaling",
        "emulated 100mbit",
        "emulated 1gbit",
        "averaging/8",
    ):
        assert word in text
    rows = text.split("\n\n")[1].splitlines()[2:]
    assert len({row.partition("  25.00  ")[0] for row in rows}) == len(rows) == len(UNLIKE)
