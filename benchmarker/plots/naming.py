"""Names in a picture: as short as they can be and still tell things apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from benchmarker.report.asked import asked
from benchmarker.report.asked_aspects import asked_aspects
from benchmarker.report.aspects import Aspect, found_aspects, framework_label
from benchmarker.report.cells import Cell

_WORK = ("problem", "parameters", "mode", "batch size", "data")
_LONGEST = 60


def framework_of(cell: Cell) -> str:
    """Return the framework's name."""
    return str(cell.first["framework"]["name"])


def names(
    cells: Sequence[Cell],
    places: Sequence[Hashable] | None = None,
    base: Callable[[Cell], str] = framework_of,
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
    """
    known = [cell.first for cell in cells]
    texts = [base(cell) for cell in cells]
    where = list(places or [None] * len(cells))
    versions = Aspect("version", tuple(framework_label(record).partition(" ")[2] for record in known), False)
    for aspect in (versions, *asked_aspects(list(map(asked, known))), *found_aspects(known)):
        if len(set(zip(where, texts))) == len(texts):
            break
        if _tells_apart(aspect, list(zip(where, texts))):
            texts = [", ".join(filter(None, (text, _said(aspect, i)))) for i, text in enumerate(texts)]
    return _numbered(list(map(short, texts)), where)


def works(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return a name for the work of each cell: its problem, and what else tells works apart."""
    return _works(cells, ())


def panel_titles(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return a name for the work of each cell that tells mode and batch size too where any two differ in them."""
    return _works(cells, ("mode", "batch size"))


def _works(cells: Sequence[Cell], told: Sequence[str]) -> tuple[str, ...]:
    first: dict[str, Cell] = {}
    for cell in cells:
        first.setdefault(cell.work, cell)
    texts = {work: str(cell.first["problem"]["name"]) for work, cell in first.items()}
    aspects = asked_aspects([asked(cell.first) for cell in first.values()])
    for aspect in (aspect for aspect in aspects if aspect.title in _WORK):
        needed = len(set(texts.values())) < len(texts) and _tells_apart(aspect, list(texts.values()))
        if needed or (aspect.title in told and len(set(aspect.texts)) > 1):
            texts = {
                work: ", ".join(filter(None, (text, _said(aspect, i))))
                for i, (work, text) in enumerate(texts.items())
            }
    return tuple(short(texts[cell.work]) for cell in cells)


def work_in_common(cells: Sequence[Cell]) -> str:
    """Return what the works of all cells have in common, e.g. ``"training, batch size 16"``."""
    modes = {str(cell.first["mode"]) for cell in cells}
    batches = {cell.first["batch_size"] for cell in cells}
    said = [*modes] if len(modes) == 1 else []
    return ", ".join([*said, *(f"batch size {size:,}" for size in batches if len(batches) == 1)])


def device_of(cell: Cell) -> str:
    """Return the device, a CPU with its threads, e.g. ``"Example CPU 3000, 2 threads"``."""
    record = cell.first
    return ", ".join(filter(None, (device_name(record), threads_of(record))))


def device_name(record: Mapping[str, Any]) -> str:
    """Return the name of a record's device, its type where that is all that is known."""
    return short(str(record["device"]["name"] or record["device"]["type"]))


def threads_of(record: Mapping[str, Any]) -> str:
    """Return the threads of a run on a CPU; nothing on another device or where they are not known."""
    threads = record["execution"]["threads"]
    if threads is None or record["device"]["type"] != "cpu":
        return ""
    return "1 thread" if threads == 1 else f"{threads} threads"


def _tells_apart(aspect: Aspect, same: Sequence[Hashable]) -> bool:
    seen: dict[Hashable, str] = {}
    return any(seen.setdefault(name, text) != text for name, text in zip(same, aspect.texts))


def _said(aspect: Aspect, index: int) -> str:
    text = aspect.texts[index]
    bare = text in ("yes", "no", "none", "any") or text.replace(",", "").replace(".", "").isdigit()
    return f"{aspect.title} {text}" if bare else text


def _numbered(texts: Sequence[str], places: Sequence[Hashable]) -> tuple[str, ...]:
    """Number what still has the same name, which only long names and new fields can have."""
    seen: Counter[tuple[Hashable, str]] = Counter()
    told = []
    for text, place in zip(texts, places):
        seen[place, text] += 1
        told.append(text if seen[place, text] == 1 else f"{text} ({seen[place, text]})")
    return tuple(told)


def short(text: str) -> str:
    """Return a text on one line, cut if it is too long for a picture."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
