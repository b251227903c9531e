"""Generation, for the terminal: how soon tokens were there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarker.analysis.text.layout import Column, numeric_column
from benchmarker.analysis.text.units import duration, significant
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import percentile

_NONE = "-"


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label of a generation with its text; nothing of any other run."""
    generation, metrics = value_at(record, "timing.generation"), record["metrics"]
    if not generation:
        return
    specification = record["specification"]
    yield (
        "tokens",
        (
            f"{significant(metrics['tokens_per_second'])} tokens/s, {specification['output_length']} after prompts of "
            f"{specification['prompt_length']}; the first after {duration(metrics['time_to_first_token'])}, each "
            f"further one {duration(metrics['time_per_output_token'])} "
            f"(median {duration(generation['token_median_seconds'])}, 99th percentile "
            f"{duration(generation['token_p99_seconds'])})"
        ),
    )


def columns(rows: Sequence[Cell]) -> list[Column]:
    """Return columns of a table whose rows are generations; none where one is something else."""
    if not all(cell.first["mode"] == "generation" for cell in rows):
        return []
    return [
        _column("first token", rows, "time_to_first_token", duration),
        _column("per token", rows, "time_per_output_token", duration),
        _column("tokens/s", rows, "tokens_per_second", significant),
    ]


def _column(title: str, rows: Sequence[Cell], name: str, shown: Callable[[float], str]) -> Column:
    found = [_median(cell, name) for cell in rows]
    return numeric_column(title, [_NONE if one is None else shown(one) for one in found])


def _median(cell: Cell, name: str) -> float | None:
    """Return the median of a metric over processes."""
    values = [record["metrics"].get(name) for record in cell.well]
    known = sorted(value for value in values if value is not None)
    return percentile(known, 50) if known else None
