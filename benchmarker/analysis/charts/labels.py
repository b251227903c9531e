"""Names in a picture: as short as they can be and still tell things apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.analysis.text.comparison_words import distinguishing_keys, value_text
from benchmarker.analysis.text.factors import (
    Factor,
    environment_factors,
    framework_label,
    specification_factors,
)
from benchmarker.errors import plural
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, work_name
from benchmarker.records.precision import excluded

_WORK = ("problem", "parameters", "mode", "batch size", "data")
_MAX_LENGTH = 60
_DISTURBED = " (disturbed)"
"""Follows the name of a number that is not to be ranked."""


def framework_of(cell: Cell) -> str:
    """Return the framework's name."""
    return str(cell.first["framework"]["name"])


def names(
    cells: Sequence[Cell],
    places: Sequence[Hashable] | None = None,
    base: Callable[[Cell], str] = framework_of,
    *,
    timed: bool = True,
) -> tuple[str, ...]:
    """Return a name for each cell, such that no two at one place have the same.

    To ``base`` is added what differs between cells of the same name at the same place: the framework's
    version first, then what was asked for and where it ran.

    Parameters
    ----------
    cells : sequence of Cell
        All that the picture shows.
    places : sequence, optional
        Where each stands, e.g. its problem; all at one place if not given.
    base : callable
        The name that suffices where nothing else differs.
    timed : bool
        Whether times are shown, so that a name says where something disturbed them.
    """
    known = [cell.first for cell in cells]
    texts = [base(cell) for cell in cells]
    where = list(places or [None] * len(cells))
    versions = Factor("version", tuple(framework_label(record).partition(" ")[2] for record in known), False)
    for factor in (
        versions,
        *specification_factors([cell.specification for cell in cells]),
        *environment_factors(known),
    ):
        if len(set(zip(where, texts))) == len(texts):
            break
        if _distinguishes(factor, list(zip(where, texts))):
            texts = [", ".join(filter(None, (text, _said(factor, i)))) for i, text in enumerate(texts)]
    marked = [
        f"{short(text)}{_DISTURBED if timed and _is_disturbed(cell) else ''}"
        for text, cell in zip(texts, cells)
    ]
    return _numbered(marked, where)


def _is_disturbed(cell: Cell) -> bool:
    """Tell whether the number of a cell rests on a process that is kept out of comparisons."""
    return any(map(excluded, cell.well))


def workload_labels(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return a name for the work of each cell: its problem, and what else tells works apart."""
    return _works(cells, ())


def panel_titles(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return a name for the work of each cell that tells mode and batch size too where any two differ in them."""
    return _works(cells, ("mode", "batch size"))


def _works(cells: Sequence[Cell], titles: Sequence[str]) -> tuple[str, ...]:
    works = [cell.work for cell in cells]
    of_work: dict[str, list[Cell]] = {}
    for work, cell in zip(works, cells):
        of_work.setdefault(work, []).append(cell)
    texts = {work: _work_name(same) for work, same in of_work.items()}
    first = [same[0] for same in of_work.values()]
    factors = specification_factors([cell.specification for cell in first])
    briefly = [_brief(one, first) for one in factors if one.title in _WORK]
    for factor in briefly:
        needed = len(set(texts.values())) < len(texts) and _distinguishes(factor, list(texts.values()))
        if needed or (factor.title in titles and len(set(factor.texts)) > 1):
            texts = {
                work: ", ".join(filter(None, (text, _said(factor, i))))
                for i, (work, text) in enumerate(texts.items())
            }
    return tuple(short(texts[work]) for work in works)


def _brief(factor: Factor, cells: Sequence[Cell]) -> Factor:
    """Return a factor, of parameters only as many as tell the works of a problem apart."""
    if factor.title != "parameters":
        return factor
    settings = [cell.first["problem"]["parameters"] for cell in cells]
    problems = [cell.first["problem"]["name"] for cell in cells]
    of_problem: dict[str, list[Mapping[str, Any]]] = {}
    for own, problem in zip(settings, problems):
        of_problem.setdefault(problem, []).append(own)
    telling = {problem: distinguishing_keys(same) for problem, same in of_problem.items()}
    texts = [
        " ".join(f"{name}={value_text(own[name])}" for name in telling[problem] if name in own)
        for own, problem in zip(settings, problems)
    ]
    same_work = len(set(zip(problems, texts))) == len(set(zip(problems, factor.texts)))
    return replace(factor, texts=tuple(texts)) if same_work else factor


def _work_name(cells: Sequence[Cell]) -> str:
    """Return what cells of the same step are called; the problem where they are of several recipes."""
    found = {work_name(cell.first) for cell in cells}
    return str(cells[0].first["problem"]["name"]) if len(found) > 1 else found.pop()


def title_of(what: str, cells: Sequence[Cell]) -> str:
    """Return a title with what all cells have in common, e.g. ``"Memory: training, batch size 16"``."""
    modes = {str(cell.first["mode"]) for cell in cells}
    batches = {cell.first["batch_size"] for cell in cells}
    said = [*modes] if len(modes) == 1 else []
    said += [f"batch size {size:,}" for size in batches if len(batches) == 1]
    return f"{what}: {', '.join(said)}" if said else what


def device_of(cell: Cell) -> str:
    """Return the device, a CPU with its threads, e.g. ``"Example CPU 3000, 2 threads"``."""
    record = cell.first
    return ", ".join(filter(None, (device_name(record), threads_of(record))))


def device_name(record: Record) -> str:
    """Return the name of a record's device, its type where that is all that is known."""
    return short(str(record["device"]["name"] or record["device"]["type"]))


def threads_of(record: Record) -> str:
    """Return the threads of a run on a CPU; nothing on another device or where they are not known."""
    threads = record["execution"]["threads"]
    if threads is None or record["device"]["type"] != "cpu":
        return ""
    return plural(threads, "thread")


def _distinguishes(factor: Factor, same: Sequence[Hashable]) -> bool:
    seen: dict[Hashable, str] = {}
    return any(seen.setdefault(name, text) != text for name, text in zip(same, factor.texts))


def _said(factor: Factor, index: int) -> str:
    text = factor.texts[index]
    bare = text in ("yes", "no", "none", "any") or text.replace(",", "").replace(".", "").isdigit()
    return f"{factor.title} {text}" if bare else text


def _numbered(texts: Sequence[str], places: Sequence[Hashable]) -> tuple[str, ...]:
    """Number what still has the same name, which only long names and new fields can have."""
    seen: Counter[tuple[Hashable, str]] = Counter()
    numbered = []
    for text, place in zip(texts, places):
        seen[place, text] += 1
        numbered.append(text if seen[place, text] == 1 else f"{text} ({seen[place, text]})")
    return tuple(numbered)


def short(text: str) -> str:
    """Return a text on one line, cut if it is too long for a picture."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
