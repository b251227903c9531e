"""The schema of a record: what its structs say, as JSON Schema too, and what ties its members to each other."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarker.records.schema.faults import Fault as Fault
from benchmarker.records.schema.faults import find_faults, json_path, shown
from benchmarker.records.schema.versions import NEWEST as NEWEST
from benchmarker.records.schema.versions import VERSIONS

Record = dict[str, Any]

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)")


def load_schema(version: str = NEWEST) -> dict[str, Any]:
    """Return the JSON Schema for a version of the record; callers must not change it.

    Raises
    ------
    ValueError
        If this release does not know the version.
    """
    reason = version_fault(version)
    if reason:
        raise ValueError(f"schema_version {reason}")
    return _schema_file()


def version_fault(version: Any) -> str | None:
    """Return why this release cannot read records of a version, or ``None`` if it can."""
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        return f"must be a text like '{NEWEST}', got {shown(version)}"
    return _unknown(version)


def _unknown(version: str) -> str | None:
    if version in VERSIONS:
        return None
    if _numbers(version) > _numbers(NEWEST):
        return f"'{version}' is newer than '{NEWEST}', the newest that this release knows: update benchmarker"
    return f"'{version}' never existed; the newest is '{NEWEST}'"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@functools.cache
def _schema_file() -> dict[str, Any]:
    text = Path(__file__).with_name("record-1.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def validate(record: Any) -> list[Fault]:
    """Return everything that is wrong with a record; an empty list for a valid one.

    First that it is JSON, then the rules of its own version's schema; if all those hold, also what ties members to
    each other.
    """
    # Imported here because the structs cost more than the rest of the command's start.
    from benchmarker.records.schema.consistency import inconsistencies
    from benchmarker.records.schema.decoding import convert, with_whole_numbers

    if not isinstance(record, dict):
        return [Fault("$", f"must be an object, got {shown(record)}")]
    if "schema_version" not in record:
        return [Fault("$.schema_version", "is missing")]
    reason = version_fault(record["schema_version"])
    if reason:
        return [Fault("$.schema_version", reason)]
    faults = [] if _is_json(record) else list(_no_json(record, ()))
    if faults:
        return faults
    typed = convert(record)
    if typed is None:
        faults = find_faults(record, _schema_file())
        if faults:
            return faults
        typed = convert(with_whole_numbers(record))
        assert typed is not None, "the decoder refuses what the schema allows"
    return [Fault(path, message) for path, message in inconsistencies(typed)]


def shape_faults(record: Record, *, unknown: bool = True) -> list[Fault]:
    """Return what is wrong with a record's members and their types; its version must be one that is known.

    This holds also for a record that was brought into the newest shape, of which an older version did not know all.
    Members that the schema does not know are no fault where they are not to be ``unknown``.
    """
    from benchmarker.records.schema.decoding import convert

    # Whether there is a fault at all is told much sooner than which.
    if convert(record):
        return []
    return [*_no_json(record, ())] or find_faults(record, _schema_file(), unknown=unknown)


def _is_json(value: Any) -> bool:
    """Tell whether a value is JSON at first sight: whether there is a fault is told much sooner than which."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is float or kind is int:
        return _is_finite(value)
    # Loops, since each call within all() would count twice where calls are nested too deeply.
    if kind is dict:
        for name, member in value.items():  # noqa: SIM110
            if type(name) is not str or not _is_json(member):
                return False
        return True
    if kind is not list:
        return False
    for item in value:  # noqa: SIM110
        if not _is_json(item):
            return False
    return True


def _no_json(value: Any, steps: tuple[str | int, ...]) -> Iterator[Fault]:
    """Yield what JSON has not: numbers that a double cannot hold, other kinds of values, names that are no texts."""
    if isinstance(value, dict):
        for name, member in value.items():
            if isinstance(name, str):
                yield from _no_json(member, (*steps, name))
            else:
                yield Fault(json_path(steps), f"must have names that are texts, got {name!r}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _no_json(item, (*steps, index))
    elif isinstance(value, (int, float)):
        if not _is_finite(value):
            yield Fault(json_path(steps), "must be a finite number")
    elif not (value is None or isinstance(value, str)):
        yield Fault(json_path(steps), f"must be JSON, got {shown(value)}")


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
