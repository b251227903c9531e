"""How much one picture shows: what can be read; the caption tells the rest, and a filter that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from benchmarker.plots.gathering import Gathered, first_groups, keep
from benchmarker.plots.naming import names, short, works
from benchmarker.report.asked import asked, value_at
from benchmarker.report.cells import Cell

MOST_SERIES = 12
MOST_WORKS = 10
"""Problems of different modes and sizes along one axis."""
MOST_ROWS = 20
"""Of a table of problems."""
_NO_SETTINGS = frozenset(
    {
        "framework",
        "framework_version",
        "framework_options",
        "environment",
        "problem",
        "problem_parameters",
        "mode",
        "batch_size",
        "data",
        "data_dir",
        "optimizer",
        "repetition",
    }
)
"""What a picture shows beside each other; all else that was asked for are the settings of an experiment."""
Labels = Callable[[Sequence[Cell]], Sequence[str]]


def series_names(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the names of series where each problem is a place of its own."""
    return names(cells, works(cells))


def few_series(gathered: Gathered, labels: Labels = series_names, *, places: Sequence[str] = ()) -> Gathered:
    """Keep the settings with the most cells, as many as make no more than :data:`MOST_SERIES` series.

    Parameters
    ----------
    gathered : Gathered
        What there is.
    labels : callable
        Returns the name of the series of each cell.
    places : sequence of str
        Members of a specification that the picture shows along an axis, so that they are no settings.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in gathered.cells:
        groups.setdefault(_setting(cell, places), []).append(cell)
    if len(set(labels(gathered.cells))) <= MOST_SERIES:
        return gathered
    kept: set[str] = set()
    for setting in sorted(groups, key=lambda name: -len(groups[name]))[:MOST_SERIES]:
        tried = [cell for cell in gathered.cells if _setting(cell, places) in kept | {setting}]
        if not kept or len(set(labels(tried))) <= MOST_SERIES:
            kept.add(setting)
    shown = [cell for cell in gathered.cells if _setting(cell, places) in kept]
    few = _most_frequent(labels(shown))
    chosen = {id(cell) for cell, name in zip(shown, labels(shown)) if name in few}
    return _told(gathered, keep(gathered, lambda cell: id(cell) in chosen, "of other settings"))


def few_works(gathered: Gathered, most: int = MOST_WORKS) -> Gathered:
    """Keep the problems, modes and sizes with the most cells."""
    return _told(gathered, first_groups(gathered, lambda cell: cell.work, most, "of further problems"))


def _setting(cell: Cell, places: Sequence[str]) -> str:
    stated = asked(cell.first)
    return json.dumps([stated[name] for name in _settings(stated, places)], sort_keys=True)


def _settings(stated: Mapping[str, Any], places: Sequence[str] = ()) -> list[str]:
    return sorted(name for name in stated if name not in _NO_SETTINGS and name not in places)


def _most_frequent(labels: Sequence[str]) -> set[str]:
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return set(sorted(count, key=lambda label: -count[label])[:MOST_SERIES])


def _told(before: Gathered, after: Gathered) -> Gathered:
    """Return what is left with the filter that shows the first of what was dropped."""
    shown = {id(cell) for cell in after.cells}
    dropped = [cell for cell in before.cells if id(cell) not in shown]
    words = _filter(dropped[0], after.cells) if dropped else ""
    if not words:
        return after
    *others, last = after.left_out
    return Gathered(after.cells, (*others, f"{last} (e.g. {words} shows some)"))


def _filter(cell: Cell, shown: Sequence[Cell]) -> str:
    """Return the words of a filter that selects a cell and none of those that are shown, where there are such."""
    record = cell.first
    paths = ["problem.name", "mode", "batch_size", *(f"specification.{n}" for n in _settings(asked(record)))]
    paths += [f"problem.parameters.{name}" for name in record["problem"]["parameters"]]
    paths += ["framework.name", "framework.full"]
    left, words = list(shown), []
    for path in paths:
        value = value_at(record, path)
        others = [other for other in left if value_at(other.first, path) != value]
        if others and isinstance(value, Hashable) and value is not None:
            words.append(f"{path.removesuffix('.name')}={_word(value)}")
            left = [other for other in left if value_at(other.first, path) == value]
    return " ".join(words)


def _word(value: Hashable) -> str:
    text = str(value).lower() if isinstance(value, bool) else short(str(value))
    return f"'{text}'" if " " in text else text
