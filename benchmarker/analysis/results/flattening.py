"""Records become columns: a name for each plain value, such as ``timing.step_seconds.median``.

A column is made for all records at once, because that takes a fifth of the time of one value after the other.
"""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import asdict

from benchmarker.analysis.results.columns import is_left_out
from benchmarker.analysis.results.row_types import Row, parse_row
from benchmarker.records.reading import DamagedError, parse_json

MAX_CELLS = 5000
"""Of a record; real ones have a tenth of it."""
_DEEPEST = 32
_NONE = type(None)


def encodable(text: str) -> str:
    """Return a text without half surrogate pairs, from a log in an unknown encoding: no table can hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


# Commands have most of their words in common.
_quoted = functools.lru_cache(4096)(shlex.quote)


Cells = dict[str, list[Any]]
"""Values of columns by name, all of the same length; None where a record has none."""


class _NoRecordError(Exception):
    """One of the records is none; the text says why."""


def flatten(rows: Sequence[Row]) -> tuple[Cells, dict[int, str]]:
    """Return the columns of records, and why which of them (by position) are none and left out of the columns.

    An interval becomes two columns ``.low`` and ``.high``; another list of plain values one text; the objects
    of a list are numbered. Samples, compared tensors, package lists and log tails are left out.
    """
    try:
        return _Columns.of(rows).cells, {}
    except _NoRecordError:
        damaged = {place: fault for place, row in enumerate(rows) if (fault := _fault(row))}
        sound = [row for place, row in enumerate(rows) if place not in damaged]
        return _Columns.of(sound, math.inf).cells, damaged


def _fault(row: Row) -> str | None:
    try:
        _Columns.of([row])
    except _NoRecordError as error:
        return str(error)
    return None


class _Columns:
    """Columns of some records.

    Attributes
    ----------
    cells : dict of str to list
        The columns that have values.

    Raises
    ------
    _NoRecordError
        If a record is nested too deeply or has too many values to be one.
    """

    def __init__(self, length: int, room: float) -> None:
        self.cells: Cells = {}
        self._length = length
        self._room = room

    @classmethod
    def of(cls, rows: Sequence[Row], room: float = MAX_CELLS) -> _Columns:
        columns = cls(len(rows), room)
        columns._add_groups("", 0, range(len(rows)), rows)
        return columns

    def _add_groups(self, before: str, depth: int, rows: Sequence[int], groups: Sequence[Row]) -> None:
        """Add the members of groups of the same name, one in each of these rows."""
        if depth > _DEEPEST:
            raise _NoRecordError("is nested too deeply to be a record")
        kind, *others = set(map(type, groups)) or {dict}
        if issubclass(kind, Struct) and not others:
            for name in kind.__struct_fields__:
                self._add(f"{before}{name}", depth, rows, list(map(attrgetter(name), groups)))
            return
        objects = [asdict(group) if isinstance(group, Struct) else group for group in groups]
        # Of one record this is the number of its values, and of several no less than that of any of them.
        self._room -= max(map(len, objects), default=0)
        if self._room < 0:
            raise _NoRecordError(f"has more than {MAX_CELLS} values, so it is not a record")
        for name in dict.fromkeys(chain.from_iterable(objects)):
            self._add(f"{before}{encodable(name)}", depth, rows, _members(objects, name))

    def _add(self, name: str, depth: int, rows: Sequence[int], values: list[Any]) -> None:
        """Add a member, whatever it is in each of these rows."""
        kinds = set(map(type, values))
        if kinds == {_NONE} or is_left_out(name):
            return
        if list in kinds:
            values = [_unfolded(name, value) if type(value) is list else value for value in values]
            kinds = set(map(type, values))
        if Raw in kinds:
            inside = [type(value) is Raw for value in values]
            self._add_texts(name, depth, [*compress(rows, inside)], [*compress(values, inside)])
            values = [None if is_text else value for is_text, value in zip(inside, values)]
            kinds = kinds - {Raw} | {_NONE}
        groups = [kind for kind in kinds if kind is dict or issubclass(kind, Struct)]
        if len(groups) == len(kinds) == 1:
            self._add_groups(f"{name}.", depth + 1, rows, values)
            return
        if groups:
            inside = [type(value) in groups for value in values]
            self._add_groups(f"{name}.", depth + 1, [*compress(rows, inside)], [*compress(values, inside)])
            values = [None if is_group else value for is_group, value in zip(inside, values)]
        if not kinds <= {_NONE, *groups}:
            self._put(name, rows, values)

    def _add_texts(self, name: str, depth: int, rows: Sequence[int], texts: Sequence[Raw]) -> None:
        """Add a member that is still JSON; texts that are the same become objects and columns once."""
        places: dict[bytes, int] = {}
        codes = [places.setdefault(bytes(text), len(places)) for text in texts]
        try:
            values = list(map(parse_json, places))
        except ValueError as error:
            raise _NoRecordError(f"is not JSON: {error}") from None
        distinct = _Columns(len(places), self._room)
        distinct._add(name, depth, range(len(places)), values)
        self._room = distinct._room
        for column, cells in distinct.cells.items():
            self._put(column, rows, [cells[code] for code in codes])

    def _put(self, name: str, rows: Sequence[int], values: list[Any]) -> None:
        if len(rows) == self._length and name not in self.cells:
            self.cells[name] = values
            return
        cells = self.cells.setdefault(name, [None] * self._length)
        for row, value in zip(rows, values):
            # Where two members have the same dotted name, the last one counts.
            if value is not None:
                cells[row] = value


def _members(objects: Sequence[dict[str, Any]], name: str) -> list[Any]:
    try:
        return list(map(itemgetter(name), objects))
    except KeyError:
        return [members.get(name) for members in objects]


def _unfolded(name: str, value: list[Any]) -> Any:
    """Return the text of a list of plain values, or its members by name."""
    if name.endswith(".ci95") and len(value) == 2:
        return dict(zip(("low", "high"), value))
    try:
        return ", ".join(value) if name != "command" else " ".join(map(_quoted, value))
    except TypeError:
        if {dict, list}.isdisjoint(map(type, value)):
            return ", ".join(map(str, value))
        return {str(index): item for index, item in enumerate(value)}


@dataclass(frozen=True)
class Part:
    """A part of the table.

    Parameters
    ----------
    cells : dict of str to list
        Columns by name, which have no kinds yet.
    length : int
        Number of records.
    damaged : dict of int to str
        Which files (by position) are no records, and why.
    """

    cells: Cells
    length: int
    damaged: dict[int, str]


def read_part(paths: Sequence[str], read: Callable[[str], bytes]) -> Part:
    """Return the part of the table that some files make.

    Parameters
    ----------
    paths : sequence of str
        The files.
    read : callable
        Returns what is in a file, or raises ``DamagedError``.
    """
    rows, places, damaged = [], [], {}
    for place, path in enumerate(paths):
        try:
            rows.append(parse_row(read(path)))
            places.append(place)
        except DamagedError as error:
            damaged[place] = str(error)
    cells, faults = flatten(rows)
    damaged |= {places[row]: fault for row, fault in faults.items()}
    return Part(cells, len(paths) - len(damaged), dict(sorted(damaged.items())))


def concatenate(parts: Sequence[Part]) -> Cells:
    """Return the columns of parts, one below the other."""
    names = dict.fromkeys(name for part in parts for name in part.cells)
    found: Cells = {name: [] for name in names}
    for part in parts:
        for name, cells in found.items():
            cells.extend(part.cells.get(name) or [None] * part.length)
    return found
