"""What is known of a column by its name: the kind of its values, its unit, what it means."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarker.records.schema.members import Member, Value, describe, members_of, value_of
from benchmarker.records.schema.record import Record

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
