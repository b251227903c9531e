"""Columns: what is known of one by its name (kind, unit, meaning), and values brought to their kinds."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.schema.members import Member, Value, describe, members_of, value_of
from benchmarker.records.schema.record import Record
from benchmarker.records.timestamps import from_record

CATEGORY, TEXT, TIME, INTEGER, NUMBER, BOOLEAN = "category", "text", "time", "integer", "number", "boolean"

LEFT_OUT = frozenset(
    {
        "timing.device_event_seconds",
        "learning.steps",
        "learning.seconds",
        "learning.losses",
        "timing.steady_state.segments",
        "trust.checkpoints",
        "monitors.utilization.columns",
        "replication.resumed",
        "verification.tensors",
        "verification.after_timing.tensors",
        "operator.tensors",
        "profile.nodes",
        "environment.packages",
        "error.log_tail",
    }
)
"""Too long for a cell of a table; they stay in the records, as every list of samples does."""
SAMPLES = "samples_seconds"

_UNIQUE = {"path", "id", "log", "command", "error.message"}
"""Texts that are another one in each record; all other texts repeat."""
ENDS = ("low", "high")
"""Of an interval."""
STANDS_FOR = ("name", "grade")
"""Members that stand for the object that has them."""
_KINDS = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
_UNITS = (
    (r"flops_per_second", "FLOP/s"),
    (r"bytes_per_second", "B/s"),
    (r"(\w+)_per_second", r"\1/s"),
    (r"_share", "1"),
    (r"_bytes", "B"),
    (r"joules", "J"),
    (r"_watts", "W"),
    (r"_mhz(\.\w+)?", "MHz"),
    (r"_seconds", "s"),
)
"""Of what plug-ins add, by the end of its name."""


@dataclass(frozen=True)
class Field:
    """A column.

    Parameters
    ----------
    kind : str or None
        Of its values; None if the record leaves it open.
    unit : str or None
        Of its numbers; ``1`` for a ratio.
    description : str or None
        What it means.
    """

    kind: str | None
    unit: str | None
    description: str | None


_PATH = Field(TEXT, None, "The record's file.")


@functools.cache
def field(name: str) -> Field:
    """Return what is known of a column."""
    if name == "path":
        return _PATH
    member = member_at(name)
    if member is None:
        return Field(None, _unit(name), None)
    kind, unit = _kind(name, member.value), member.value.unit
    if unit is None and kind in (INTEGER, NUMBER):
        unit = _unit(name)
    return Field(kind, unit, member.description or None)


@functools.lru_cache(8192)
def is_left_out(name: str) -> bool:
    """Tell whether a field of a record is not in the table, by itself or because it is inside of such a one.

    What the structs do not know in a group that they close is not in it either.
    """
    parts = name.split(".")
    if (name and _is_unknown(parts)) or any(part.endswith(SAMPLES) for part in parts):
        return True
    return any(".".join(parts[:count]) in LEFT_OUT for count in range(1, len(parts) + 1))


@functools.lru_cache(8192)
def is_always_null(name: str) -> bool:
    """Tell whether the table does not say what a field is, so that the record must be asked.

    That is what is left out of it, and a group that may be null while none of its columns tells that it is.
    """
    if is_left_out(name):
        return True
    member = member_at(name)
    if member is None or not member.value.nullable or member.value.json_type != "object":
        return False
    if member.value.group is None:
        # A collector's reading may have a name too, which is a column then.
        return not member.value.is_reading
    members = members_of(member.value.group)
    if any(known in members for known in STANDS_FOR):
        return False
    return not any(_is_always_present(f"{name}.{one.name}", one) for one in members.values())


def _is_always_present(name: str, member: Member) -> bool:
    value = member.value
    is_plain = value.json_type not in (None, "object", "array")
    return member.since is not None and is_plain and not value.nullable and not is_left_out(name)


def _is_unknown(parts: Sequence[str]) -> bool:
    value = _RECORD
    for part in parts:
        known = members_of(value.group) if value.group else {}
        if part not in known:
            return value.group is not None and value.others is None
        value = known[part].value
    return False


@functools.cache
def always() -> tuple[str, ...]:
    """Return the columns of every table: plain values that are in every record, be they null."""
    return tuple(_leaves(_RECORD, ""))


def _leaves(value: Value, before: str) -> Iterator[str]:
    for part, member in (members_of(value.group) if value.group else {}).items():
        name, inner = before + part, member.value
        if is_left_out(name):
            continue
        if inner.json_type == "object":
            if not inner.nullable:
                yield from _leaves(inner, f"{name}.")
        elif not (inner.items and inner.items.json_type == "object"):
            yield name


@functools.cache
def place(name: str) -> tuple[tuple[int, str], ...]:
    """Return what columns are sorted by: the order of the members, by name where that has none."""
    found: list[tuple[int, str]] = []
    value: Value | None = _RECORD
    for part in name.split("."):
        known = members_of(value.group) if value and value.group else {}
        if part in known:
            found.append(([*known].index(part), ""))
            value = known[part].value
        elif part.isdecimal() and len(part) < 10:
            found.append((int(part), ""))
            value = value.items if value else None
        else:
            found.append((ENDS.index(part), "") if part in ENDS else (len(known), part))
            value = value.others if value else None
    return tuple(found)


@functools.lru_cache(8192)
def member_at(name: str) -> Member | None:
    """Return what the structs say of a field; None if they leave it open."""
    member: Member | None = Member("", _RECORD, None, "")
    for part in name.split("."):
        member = _inside(member, part) if member else None
    return member if member and member.value.json_type else None


def _inside(member: Member, part: str) -> Member | None:
    value = member.value
    if value.items and (part.isdecimal() or part in ENDS):
        # The ends of an interval are told by the interval's own description.
        return Member(part, value.items, None, member.description)
    known = members_of(value.group) if value.group else {}
    if part in known:
        return known[part]
    return Member(part, value.others, None, describe(value.others.group)) if value.others else None


def _kind(name: str, value: Value) -> str | None:
    if value.json_type in ("string", "array"):
        is_time = str(value.bounds.get("pattern", "")).startswith(r"^\d{4}-") or name.endswith("_at")
        return TIME if is_time else TEXT if name in _UNIQUE else CATEGORY
    return _KINDS.get(value.json_type or "")


def _unit(name: str) -> str | None:
    for pattern, unit in _UNITS:
        found = re.search(f"(?:{pattern})$", name)
        if found:
            return found.expand(unit)
    return None


_RECORD = value_of(Record)

# --- values of columns ---------------------------------------------------------------------------


def encodable(text: str) -> str:
    """Return a text without half surrogate pairs, from a log in an unknown encoding: no table can hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


_MAX_INTEGER = 2**63 - 1
_INFERRED = {frozenset({int}): INTEGER, frozenset({bool}): BOOLEAN}
_FITTING = {NUMBER: {float}, BOOLEAN: {bool}}


@dataclass(frozen=True)
class Column:
    """Values of one kind.

    Parameters
    ----------
    kind : str
        One of those of this module.
    values : list
        As that kind wants them; None where there is none.
    """

    kind: str
    values: list[Any]


def typed(cells: Mapping[str, list[Any]]) -> dict[str, Column]:
    """Return columns with their kinds, in the order of the schema.

    A value that is not of the kind which the schema says (nobody has validated the record) becomes None; where
    the schema leaves the kind open and values are of several, all become texts.
    """
    return {name: _column(name, cells[name]) for name in ordered(cells)}


def ordered(names: Iterable[str]) -> list[str]:
    """Return names of columns in the order of the schema's groups."""
    return sorted(names, key=place)


def joint_kind(first: str, second: str) -> str:
    """Return the kind that can hold the values of both."""
    if first == second:
        return first
    return NUMBER if {first, second} == {INTEGER, NUMBER} else CATEGORY


def _column(name: str, values: list[Any]) -> Column:
    types = set(map(type, values)) - {type(None)}
    kind = field(name).kind or _inferred_kind(types, values)
    if not _fits(kind, types, values):
        convert = _CONVERSIONS[kind]
        values = [None if value is None else convert(value) for value in values]
    return Column(kind, values)


def _fits(kind: str, types: set[type], values: list[Any]) -> bool:
    """Tell whether no value must be converted."""
    if kind in (CATEGORY, TEXT):
        return types == {str} and all(map(str.isascii, filter(None, values)))
    if kind == INTEGER:
        return types == {int} and _are_small(values)
    return types == _FITTING.get(kind)


def _inferred_kind(types: set[type], values: list[Any]) -> str:
    if types == {int} and not _are_small(values):
        return NUMBER
    if types <= {int, float} and float in types:
        return NUMBER
    return _INFERRED.get(frozenset(types), CATEGORY)


def _are_small(values: list[Any]) -> bool:
    known = list(filter(None, values))
    return not known or -_MAX_INTEGER <= min(known) <= max(known) <= _MAX_INTEGER


def _integer(value: Any) -> int | None:
    fits = type(value) is int and -_MAX_INTEGER <= value <= _MAX_INTEGER
    return value if fits else None


def _number(value: Any) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    return encodable(value if isinstance(value, str) else json.dumps(value))


def _time(value: Any) -> datetime | None:
    try:
        return from_record(value)
    except (AttributeError, OverflowError, ValueError):
        return None


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    INTEGER: _integer,
    NUMBER: _number,
    BOOLEAN: _boolean,
    CATEGORY: _text,
    TEXT: _text,
    TIME: _time,
}
