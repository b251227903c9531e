"""What is compared with what: the cells of two sides that did the same work."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from benchmarker.analysis.comparison.pairs import has_number
from benchmarker.analysis.comparison.pythons import slower_pythons
from benchmarker.errors import UsageError, printable, shortened
from benchmarker.experiment.keys import canonical
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import MEASURING, build_of, by_build, comparison_factors, differences
from benchmarker.records.lookup import Record

Work = str
"""What steps have in common that do the same: the hash of ``comparable``."""

_FRAMEWORK = "framework.name"
_OF_ITS_FRAMEWORK = ("framework.", "environment.")
_MAX_LENGTH = 48
_SHOWN = 6
"""Things that differ and are named in a sentence."""
_MAX_REASON = 300
"""Characters of the message of a run that failed."""


@dataclass(frozen=True)
class Side:
    """Records that stand on one side of a comparison.

    Parameters
    ----------
    name : str
        As it was asked for.
    records : sequence of mapping
        Valid ones, in any order.
    notes : tuple of str
        What was passed over.
    """

    name: str
    records: Sequence[Record]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """The records of one framework, version, options and machine that did the same work.

    Parameters
    ----------
    factors : mapping
        What tells it from other cells, by dotted name as in a record.
    records : tuple of mapping
        Those that ended well, in the order of time; at least one.
    """

    factors: Mapping[str, Any]
    records: tuple[Record, ...]

    @property
    def newest(self) -> Record:
        """The record that was made last."""
        return self.records[-1]


@dataclass(frozen=True)
class Match:
    """Two cells that did the same work, whose ``keys`` tell which, and so may be compared."""

    keys: Mapping[str, Any]
    first: Cell
    other: Cell


@dataclass(frozen=True)
class Matched:
    """What two sides have in common.

    Parameters
    ----------
    matches : list of Match
        At least one.
    notes : list of str
        What was left over.
    """

    matches: list[Match]
    notes: list[str] = field(default_factory=list)


def match(first: Side, other: Side) -> Matched:
    """Return the cells of two sides that did the same work.

    If the first side has one cell for a work, each cell of the other is compared with it; if it has several,
    each with the one that agrees in what tells these apart.

    Raises
    ------
    UsageError
        If a record is on both sides, nothing of one side is comparable with anything of the other, or it
        cannot be told which cells belong together.
    """
    _refuse_overlap(first, other)
    ours, theirs = _works(first), _works(other)
    shared = [work for work in ours if work in theirs]
    if not shared:
        raise UsageError(_nothing_in_common(first, other, ours, theirs))
    matches: list[Match] = []
    unmatched: list[Cell] = []
    for work in shared:
        for cell in theirs[work]:
            partner = _partner(cell, ours[work])
            if partner is None:
                unmatched.append(cell)
            else:
                matches.append(Match(cell.newest["comparable"]["keys"], partner, cell))
    if not matches:
        raise UsageError(_several(first, ours[shared[0]]))
    pythons = slower_pythons((found.first.records, found.other.records) for found in matches)
    notes = [*_notes(first, other, ours, theirs, unmatched), *_measured_otherwise(matches), *pythons]
    return Matched(matches, notes)


def _refuse_overlap(first: Side, other: Side) -> None:
    known = {record["id"] for record in first.records}
    both = [record["id"] for record in other.records if record["id"] in known]
    if both:
        raise UsageError(
            f"the sides of a comparison must have no record in common, '{first.name}' and '{other.name}' share "
            f"{len(both)} (one is {both[0]}); narrow one of them, or use --aa for what a machine can resolve"
        )


def _works(side: Side) -> dict[Work, list[Cell]]:
    """Return the cells of a side by what they computed."""
    groups: dict[Work, dict[str, list[Record]]] = {}
    for record in sorted(filter(has_number, side.records), key=lambda record: str(record["started_at"])):
        cells = groups.setdefault(record["comparable"]["hash"], {})
        cells.setdefault(canonical(comparison_factors(record)), []).append(record)
    if not groups:
        raise UsageError(
            f"each side of a comparison must have a run that ended well, '{side.name}' has none{_newest_reason(side)}"
        )
    works = {
        work: [cell for alike in cells.values() for cell in _cells(alike)] for work, cells in groups.items()
    }
    for cell in (cell for cells in works.values() for cell in cells):
        _refuse_twins(side, cell.records)
    return works


def _cells(alike: Sequence[Record]) -> list[Cell]:
    """Return the cells of records whose factors are the same but for the build of their Python."""
    factors = comparison_factors(alike[0])
    return [
        Cell({**factors, "environment.build": build_of(group)}, tuple(group)) for group in by_build(alike)
    ]


def _newest_reason(side: Side) -> str:
    """Return what the newest run of a side failed of, as the end of a sentence."""
    failed = [record for record in side.records if record.get("error")]
    if not failed:
        return ""
    newest = max(failed, key=lambda record: str(record["started_at"]))
    return f"; the last of its runs: {printable(shortened(str(newest['error']['message']), _MAX_REASON))}"


def _refuse_twins(side: Side, records: Sequence[Record]) -> None:
    """Refuse two records of one round of a campaign: what tells them apart is nothing that this module knows of."""
    known: dict[tuple[str, int], Record] = {}
    for record in records:
        replication = record["replication"]
        if replication is None:
            continue
        twin = known.setdefault((replication["campaign"], replication["round"]), record)
        if twin is not record:
            ours, theirs = twin["specification"], record["specification"]
            names = (
                ", ".join(name for name in ours if ours[name] != theirs.get(name)) or "nothing that was asked"
            )
            raise UsageError(
                f"'{side.name}' has two records of one round, {twin['id']} and {record['id']}, which differ in "
                f"{names}; add that to its filter, e.g. 'specification.NAME=VALUE', or remove one of them"
            )


def _partner(cell: Cell, candidates: Sequence[Cell]) -> Cell | None:
    """Return the one candidate that agrees in whatever tells the candidates apart; None if there is none."""
    names = _varying(candidates)
    fitting = [one for one in candidates if all(one.factors.get(n) == cell.factors.get(n) for n in names)]
    return fitting[0] if len(fitting) == 1 else None


def _varying(cells: Sequence[Cell]) -> list[str]:
    """Return what tells cells apart; version and options only if they differ within a framework."""
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cell in cells:
        for name, value in cell.factors.items():
            owner = str(cell.factors[_FRAMEWORK]) if name.startswith(_OF_ITS_FRAMEWORK) else ""
            values[name][owner].add(canonical(value))
    frameworks = len(values[_FRAMEWORK]) > 1
    varying = [name for name, owners in values.items() if any(len(found) > 1 for found in owners.values())]
    return [_FRAMEWORK, *varying] if frameworks else varying


def _several(side: Side, cells: Sequence[Cell]) -> str:
    names = _varying(cells)
    values = {name: list(dict.fromkeys(_text(cell.factors.get(name)) for cell in cells)) for name in names}
    listed = "; ".join(f"{name}: {', '.join(found[:_SHOWN])}" for name, found in values.items())
    hint = names[0]
    return (
        f"'{side.name}' has {len(cells)} cells of the same work and none is like the other side's, so it cannot be "
        f"told which to compare; they differ in {listed}; add one to its filter, e.g. '{hint}={values[hint][0]}'"
    )


def _nothing_in_common(
    first: Side, other: Side, ours: Mapping[Work, Sequence[Cell]], theirs: Mapping[Work, Sequence[Cell]]
) -> str:
    """Name what differs between the two works that are most alike."""
    found = (
        _differences(a[0].newest["comparable"], b[0].newest["comparable"])
        for a in ours.values()
        for b in theirs.values()
    )
    nearest = min(found, key=len)
    examples = [f"{name} ({_text(a)} and {_text(b)})" for name, (a, b) in list(nearest.items())[:_SHOWN]]
    more = f" and {len(nearest) - _SHOWN} more" if len(nearest) > _SHOWN else ""
    return (
        f"step times are compared for the same work only: '{first.name}' and '{other.name}' differ in "
        f"{', '.join(examples)}{more}"
    )


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the keys in which two works differ; of objects their members by dotted name."""
    differing = differences(first, second)
    if "problem" in differing:
        # That its parameters are others says nothing more.
        differing = {name: pair for name, pair in differing.items() if not name.startswith("problem_")}
    found: dict[str, tuple[Any, Any]] = {}
    for name, (a, b) in differing.items():
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            inner = dict.fromkeys((*a, *b))
            found.update({f"{name}.{n}": (a.get(n), b.get(n)) for n in inner if a.get(n) != b.get(n)})
        else:
            found[name] = (a, b)
    return found


def _notes(
    first: Side,
    other: Side,
    ours: Mapping[Work, Sequence[Cell]],
    theirs: Mapping[Work, Sequence[Cell]],
    unmatched: Sequence[Cell],
) -> list[str]:
    notes = []
    for side, works, against in ((first, ours, theirs), (other, theirs, ours)):
        alone = sum(work not in against for work in works)
        failed = sum(not has_number(record) for record in side.records)
        if alone:
            notes.append(f"works of '{side.name}' that the other side has not computed, left out: {alone}")
        if failed:
            notes.append(f"runs of '{side.name}' that did not end well, left out: {failed}")
    if unmatched:
        labels = ", ".join(dict.fromkeys(str(cell.factors[_FRAMEWORK]) for cell in unmatched))
        notes.append(f"cells of '{other.name}' without a counterpart in '{first.name}', left out: {labels}")
    return notes


def _measured_otherwise(matches: Sequence[Match]) -> list[str]:
    """Name how cells that are compared were measured otherwise."""
    settings = {
        f"{name.removeprefix('specification.')} ({_text(found.first.factors[name])} and "
        f"{_text(found.other.factors[name])})": None
        for found in matches
        for name in MEASURING
        if found.first.factors[name] != found.other.factors[name]
    }
    if not settings:
        return []
    more = f" and {len(settings) - _SHOWN} more" if len(settings) > _SHOWN else ""
    return [f"measured differently, which changes no step: {', '.join(list(settings)[:_SHOWN])}{more}"]


def _text(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
