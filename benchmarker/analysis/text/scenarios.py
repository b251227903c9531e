"""How load came and what came of it, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.layout import Column, numeric_column
from benchmarker.analysis.text.units import duration, significant
from benchmarker.api.scenario import OFFLINE, PERCENTILES, SERVER, SINGLE_STREAM
from benchmarker.errors import plural
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import percentile

_NONE = "-"


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label of a scenario with its text; nothing where steps followed one another."""
    scenario = value_at(record, "timing.scenario")
    if not scenario:
        return
    if scenario["name"] == OFFLINE:
        queries = f"{scenario['queries']:,} queries of {plural(scenario['query_samples'], 'sample')} at once"
        yield OFFLINE, f"{significant(record['metrics']['throughput'])} samples/s, {queries}"
        return
    if scenario["server"]:
        yield SERVER, _server(scenario)
    yield "latency", _percentile(scenario)


def _percentile(scenario: Mapping[str, Any]) -> str:
    low, high = (
        _NONE if scenario[name] is None else duration(scenario[name])
        for name in ("at_least_seconds", "at_most_seconds")
    )
    found = (
        f"{scenario['percentile']:g}th percentile {duration(scenario['percentile_seconds'])} of "
        f"{scenario['queries']:,} queries"
    )
    return f"{found}, at least {low} and at most {high}, each with {scenario['confidence']:.0%} confidence"


def _server(scenario: Mapping[str, Any]) -> str:
    """Return the rate that was sustained with its interval, or why there is none."""
    server, samples = scenario["server"], scenario["query_samples"]
    bound = f"within {duration(scenario['latency_bound_seconds'])}"
    tried = f"{plural(len(server['trials']), 'trial')}, one query after the other {significant(server['capacity'])}/s"
    if server["rate"] is None:
        return f"{server['outcome']}: {server['reason']} ({tried})"
    low, high = (significant(value * samples) for value in server["rate_interval"])
    return f"{significant(server['rate'] * samples)} samples/s {bound}, interval [{low}, {high}] ({tried})"


def are_in(rows: Sequence[Cell]) -> bool:
    """Tell whether load came in a scenario in a row of a table."""
    return any(cell.specification.get("scenario") for cell in rows)


def columns(rows: Sequence[Cell]) -> list[Column]:
    """Return columns of the scenarios of a table's rows."""
    found = []
    names = {cell.specification.get("scenario") for cell in rows}
    if SINGLE_STREAM in names:
        title = f"{PERCENTILES[SINGLE_STREAM]:g}th percentile"
        texts = [None if v is None else duration(v) for v in _medians(rows, "single_stream_latency")]
        found.append(_column(title, texts))
    if SERVER in names:
        values = _medians(rows, "latency_bounded_throughput")
        found.append(_column("within bound/s", [None if v is None else significant(v) for v in values]))
    return found


def notes(rows: Sequence[Cell]) -> list[str]:
    """Return what the columns mean, and why a server has no rate."""
    servers = [cell for cell in rows if cell.specification.get("scenario") == SERVER]
    if not servers:
        return []
    reasons = [value_at(record, "timing.scenario.server.reason") for cell in servers for record in cell.well]
    meaning = (
        "Within bound/s: samples per second of the highest rate of Poisson arrivals whose 99th percentile of latencies "
        "keeps the bound; steps are those of the same queries without their waiting."
    )
    return [meaning, *dict.fromkeys(f"Unreachable or unconfirmed: {reason}." for reason in reasons if reason)]


def _column(title: str, texts: Sequence[str | None]) -> Column:
    return numeric_column(title, [_NONE if text is None else text for text in texts])


def _medians(rows: Sequence[Cell], name: str) -> list[float | None]:
    """Return the median of a metric over the processes of each row."""
    found = []
    for cell in rows:
        values = sorted(v for record in cell.well if (v := record["metrics"].get(name)) is not None)
        found.append(percentile(values, 50) if values else None)
    return found
