"""What the flat table takes of a record: all but its long lists, which are only held to their rules."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import Any, Literal

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from benchmarker.analysis.results.columns import is_left_out
from benchmarker.records.migration import newest
from benchmarker.records.reading import DamagedError, parse_record
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

_decode = msgspec.json.Decoder(_Row).decode
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


Part = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""A path, the members there that stay JSON, and those that are looked at and not for the table."""


@functools.cache
def _parts() -> tuple[Part, ...]:
    return tuple(_found((), _Row))


def _found(path: tuple[str, ...], group: Group) -> Iterator[Part]:
    values = {name: member.value for name, member in members_of(group).items()}
    texts = tuple(name for name, value in values.items() if value.kind is Raw)
    long = tuple(name for name in values if is_left_out(".".join((*path, name))))
    if texts or long:
        yield path, texts, long
    for name, value in values.items():
        if value.group and value.others is None and name not in long:
            yield from _found((*path, name), value.group)
