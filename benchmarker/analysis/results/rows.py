"""From the bytes of files to the columns of the flat table, such as ``timing.step_seconds.median``.

A row is what the table takes of a record: all but its long lists, which are only held to their rules. A column is made
for all rows at once, because that takes a fifth of the time of one value after the other.
"""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, force_setattr

from benchmarker.analysis.results.columns import encodable, is_left_out
from benchmarker.machine.typed_values import decoder
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.migration import newest
from benchmarker.records.reading import DamagedError, parse_json, parse_record
from benchmarker.records.schema import NEWEST, shape_faults
from benchmarker.records.schema import Record as PlainRecord
from benchmarker.records.schema.decoding import is_complete
from benchmarker.records.schema.execution import Execution
from benchmarker.records.schema.members import Group, members_of
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.replication import Comparable
from benchmarker.records.schema.workload import Framework, Problem
from benchmarker.records.specifications import specification_findings
from benchmarker.records.timestamps import time_fault

# Objects that are the same in many records of a machine or a framework stay JSON: each text becomes objects and
# columns only once.


class _Framework(Framework, frozen=True, kw_only=True):
    options: Raw  # type: ignore[assignment]
    libraries: Raw  # type: ignore[assignment]


class _Problem(Problem, frozen=True, kw_only=True):
    parameters: Raw  # type: ignore[assignment]


class _Execution(Execution, frozen=True, kw_only=True):
    environment_variables: Raw  # type: ignore[assignment]


class _Comparable(Comparable, frozen=True, kw_only=True):
    keys: Raw  # type: ignore[assignment]


class _Row(Record, frozen=True, kw_only=True):
    schema_version: Literal[NEWEST]  # type: ignore[valid-type]
    framework: _Framework
    problem: _Problem
    execution: _Execution
    comparable: _Comparable
    collectors: Raw  # type: ignore[assignment]
    platform: dict[str, Raw]


Row = PlainRecord | msgspec.Struct
"""A record whose groups are objects or structs."""

_decode = decoder(_Row).decode
_OBJECT = ord("{")
_CHECKED = ("started_at", "ended_at", "specification")


def parse_row(data: bytes) -> Row:
    """Return what the flat table takes of a file's bytes: a record of any version that this release knows.

    Raises
    ------
    DamagedError
        If they are not JSON, not a record, or one with a value that the schema does not allow. Members that it does
        not know are passed over.
    """
    try:
        row = _decode(data)
        if not data.isascii():
            # Texts that stay JSON are not looked at.
            data.decode("utf-8")
        if is_complete(row, NEWEST) and _keep(row) and not _fault(*attrgetter(*_CHECKED)(row)):
            return row
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    # An older version, half a surrogate pair, or damage, for which this has the words.
    record = newest(parse_record(data))
    faults = shape_faults(record, unknown=False)
    if faults:
        raise DamagedError(f"is not a valid record: {faults[0]}")
    fault = _fault(*itemgetter(*_CHECKED)(record))
    if fault:
        raise DamagedError(f"is not a valid record: {fault}")
    return record


def _fault(started: str, ended: str | None, specification: Mapping[str, Any]) -> str | None:
    """Return what is wrong with values that the schema cannot hold to their rules."""
    for name, text in (("started_at", started), ("ended_at", ended)):
        fault = None if text is None else time_fault(text)
        if fault:
            return f"$.{name} {fault}"
    return next((f"{path} {message}" for path, message in specification_findings(specification)), None)


def _keep(row: msgspec.Struct) -> bool:
    """Let go of the file's bytes and of long lists; tell whether what stays JSON are objects."""
    for path, texts, long in _parts():
        group = row
        for step in path:
            group = getattr(group, step)
            if group is None:
                break
        else:
            for name in texts:
                text = getattr(group, name)
                if memoryview(text)[0] != _OBJECT:
                    return False
                force_setattr(group, name, text.copy())
            for name in long:
                force_setattr(group, name, None)
    platform: dict[str, Raw] = getattr(row, "platform")  # noqa: B009
    for name, text in platform.items():
        platform[name] = text.copy()
    return True


_Kept = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""A path, the members there that stay JSON, and those that are looked at and not for the table."""


@functools.cache
def _parts() -> tuple[_Kept, ...]:
    return tuple(_found((), _Row))


def _found(path: tuple[str, ...], group: Group) -> Iterator[_Kept]:
    values = {name: member.value for name, member in members_of(group).items()}
    texts = tuple(name for name, value in values.items() if value.kind is Raw)
    long = tuple(name for name in values if is_left_out(".".join((*path, name))))
    if texts or long:
        yield path, texts, long
    for name, value in values.items():
        if value.group and value.others is None and name not in long:
            yield from _found((*path, name), value.group)


MAX_CELLS = 5000
"""Of a record; real ones have a tenth of it."""
_MAX_DEPTH = 32
_NONE = type(None)


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
        damaged = {place: fault for place, row in enumerate(rows) if (fault := _size_fault(row))}
        sound = [row for place, row in enumerate(rows) if place not in damaged]
        return _Columns.of(sound, math.inf).cells, damaged


def _size_fault(row: Row) -> str | None:
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
        if depth > _MAX_DEPTH:
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
