"""Filters that no record can pass, found by the schema before any record is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import UsageError, did_you_mean, nearest
from benchmarker.results.fields import (
    BOOLEAN,
    ENDS,
    INTEGER,
    NUMBER,
    STANDS_FOR,
    field,
    schema_of,
    types_of,
)
from benchmarker.results.matching import Range, Where, is_number, is_numeral, matches
from benchmarker.schema import load_schema

TIMES = ("since", "until")
"""Filters by the time at which a run started."""
_EXAMPLES = 3
"""Fields of a group that are named."""


def check_field(name: str) -> None:
    """Raise ``UsageError`` if a dotted name can name no field of a record, nor ``since`` or ``until``."""
    node: Mapping[str, Any] = load_schema()
    if name in TIMES:
        return
    parts = name.split(".")
    for depth, part in enumerate(parts):
        known = node.get("properties")
        if known is None:
            _check_inside(node, ".".join(parts[:depth]), part)
            return
        if part not in known and node.get("additionalProperties") is False:
            near = did_you_mean(part, [*known, *(() if depth else TIMES)])
            inside = f" (in '{name}')" if depth else ""
            raise UsageError(f"a filter must name a field of a record, got '{part}'{inside}{near}")
        node = known.get(part, {})


def _check_inside(node: Mapping[str, Any], name: str, part: str) -> None:
    """Refuse a member of what has none: ``status.ne``."""
    types = types_of(node)
    is_item = "array" in types and (part.isdecimal() or part in ENDS)
    if types and "object" not in types and not is_item:
        raise UsageError(
            f"a filter must name a field of a record, got '{name}.{part}', and '{name}' has no '{part}'; what is "
            f"not wanted is written {name}!=VALUE, in Python {name.replace('.', '__')}=Where(none_of=(VALUE,))"
        )


def check_values(name: str, where: Where) -> None:
    """Raise ``UsageError`` if a field can have no such value as is wanted, or not wanted.

    Parameters
    ----------
    name : str
        Dotted name of a field.
    where : Where
        The values.
    """
    for value in (*(where.any_of or ()), *where.none_of):
        _check_range(value)
        if value is not None:
            _check_value(name, value)


def _check_range(value: Any) -> None:
    if isinstance(value, range) and not value:
        raise UsageError(f"a range must not be empty, got {value}")
    if isinstance(value, Range) and value.is_empty:
        raise UsageError(f"a range must go from the smaller number to the larger, got '{value}'")


def _check_value(name: str, value: Any) -> None:
    node = schema_of(name)
    if node is None:
        return
    if "object" in types_of(node):
        members = node.get("properties", {})
        told_by = next((member for member in STANDS_FOR if member in members), None)
        if told_by is None:
            _check_group(name, node, value)
        else:
            _check_value(f"{name}.{told_by}", value)
    elif "enum" in node:
        known = [str(member) for member in node["enum"] if member is not None]
        if not any(map(matches(value), known)):
            near = nearest(value, known)
            raise UsageError(f"'{name}' must be one of {', '.join(known)}, got {_told(value)}{near}")
    else:
        _check_kind(name, value)


def _check_group(name: str, node: Mapping[str, Any], value: Any) -> None:
    """Refuse a value for a group of fields; of one that is open, a member may stand for it."""
    if "additionalProperties" not in node:
        return
    members = node.get("properties", {})
    fitting = [m for m, of in members.items() if any(map(matches(value), filter(None, of.get("enum", ()))))]
    examples = [f"{name}.{member}" for member in (fitting or list(members) or ["NAME"])[:_EXAMPLES]]
    raise UsageError(
        f"a filter of a value must name a single field, '{name}' is a group of them, got {_told(value)}; name one in "
        f"it, such as {', '.join(examples)}"
    )


def _check_kind(name: str, value: Any) -> None:
    kind = field(name).kind
    is_range = isinstance(value, (Range, range))
    if kind in (INTEGER, NUMBER):
        if not (is_range or is_number(value) or (isinstance(value, str) and is_numeral(value))):
            raise UsageError(
                f"'{name}' is a number, so what it must be is like 8, 8..64, 8.. or null, got {_told(value)}"
            )
    elif kind == BOOLEAN:
        if not isinstance(value, bool):
            raise UsageError(f"'{name}' must be true, false or null, got {_told(value)}")
    elif kind is not None and is_range:
        raise UsageError(f"a range must be of numbers, and '{name}' is none, got {_told(value)}")


def _told(value: Any) -> str:
    """Return a value as the words of a filter have it."""
    return f"'{str(value).lower() if isinstance(value, bool) else value}'"
