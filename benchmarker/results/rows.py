"""What the flat table takes of a record: all but its long lists, which are only held to the schema's rules."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from benchmarker.results.constraints import kinds_of, struct_of, type_of
from benchmarker.results.fields import is_left_out
from benchmarker.results.migration import Plan, newest, newest_plan
from benchmarker.results.reading import DamagedError, parse_record
from benchmarker.schema import NEWEST, Record, load_schema, shape_faults

_REPEATED = frozenset(
    {
        "collectors",
        "comparable.keys",
        "execution.environment_variables",
        "framework.libraries",
        "framework.options",
        "problem.parameters",
    }
)
"""The same in many records of a machine or a framework, so each text becomes objects and columns only once."""
_OF_REPEATED = "platform"
"""Most of its members are."""

_NEWEST = {"const": NEWEST}
_OBJECT = ord("{")

Row = Record | msgspec.Struct
"""A record whose groups are objects or, with the members that the schema knows, structs."""


class _Rest(NamedTuple):
    """What the types do not tell of a group at a path.

    Parameters
    ----------
    path : tuple of str
        The names that lead to it.
    texts : tuple of str
        Members that stay JSON, objects all of them.
    long : tuple of str
        Members that are looked at, and not for the table.
    names : frozenset of str
        Of an open group, the members that it must have.
    limits : tuple of (str, float, float)
        Of an open group, the least and the largest value of members.
    """

    path: tuple[str, ...]
    texts: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    limits: tuple[tuple[str, float, float], ...] = ()


def parse_row(data: bytes) -> Row:
    """Return what the flat table takes of a file's bytes: a record of any version that this release knows.

    Raises
    ------
    DamagedError
        If they are not JSON, not a record, or one with a value that the schema does not allow. Members that it does
        not know are passed over.
    """
    decode, rests = _reader()
    try:
        row: msgspec.Struct = decode(data)
        if not data.isascii():
            # Texts that are passed over are not looked at.
            data.decode("utf-8")
        if _is_whole(row, rests):
            return row
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    # An older version, half a surrogate pair, or damage, for which this has the words.
    record = newest(parse_record(data))
    faults = shape_faults(record, unknown=False)
    if faults:
        raise DamagedError(f"is not a valid record: {faults[0]}")
    return record


@functools.cache
def _reader() -> tuple[Any, tuple[_Rest, ...]]:
    schema, plan = load_schema(), newest_plan()
    kind = _struct_of("", {**schema, "properties": {**schema["properties"], "schema_version": _NEWEST}}, plan)
    return msgspec.json.Decoder(kind).decode, tuple(_rests((), schema, plan))


def _struct_of(before: str, node: Mapping[str, Any], plan: Plan | None) -> Any:
    """Return the type of a group whose members the schema names."""
    parts = {name: inner for name, _, _, inner in plan.parts} if plan else {}
    members = {
        name: _type_of(before + name, member, parts.get(name)) for name, member in node["properties"].items()
    }
    return struct_of(before or "record", members, plan.names if plan else frozenset())


def _type_of(name: str, node: Mapping[str, Any], plan: Plan | None) -> Any:
    if name in _REPEATED:
        return msgspec.Raw
    if name == _OF_REPEATED:
        return dict[str, msgspec.Raw]
    if not plan or node.get("additionalProperties") is not False or is_left_out(name):
        return type_of(node, load_schema())
    group = _struct_of(f"{name}.", node, plan)
    return group | None if "null" in kinds_of(node) else group


def _rests(path: tuple[str, ...], node: Mapping[str, Any], plan: Plan) -> Iterator[_Rest]:
    members = {".".join((*path, name)): (name, member) for name, member in node["properties"].items()}
    texts = tuple(name for own, (name, _) in members.items() if own in _REPEATED)
    long = tuple(name for own, (name, _) in members.items() if is_left_out(own))
    if texts or long:
        yield _Rest(path, texts, long)
    for name, kind, _, inner in plan.parts:
        member = node["properties"][name]
        if kind is not dict or not inner or name in (*texts, *long):
            continue
        if member.get("additionalProperties") is False:
            yield from _rests((*path, name), member, inner)
        elif inner.names:
            yield _Rest((*path, name), names=inner.names, limits=tuple(_limits(member)))


def _limits(node: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    for name, member in node.get("properties", {}).items():
        low, high = member.get("minimum", -math.inf), member.get("maximum", math.inf)
        if (low, high) != (-math.inf, math.inf):
            yield name, low, high


def _is_whole(row: Any, rests: tuple[_Rest, ...]) -> bool:
    """Tell whether all is there, and let go of the file's bytes."""
    for path, texts, long, names, limits in rests:
        group = row
        for part in path:
            group = getattr(group, part)
            if group is None:
                break
        else:
            if names and not (names <= group.keys() and all(_is_within(group, *limit) for limit in limits)):
                return False
            for name in texts:
                text = getattr(group, name)
                if memoryview(text)[0] != _OBJECT:
                    return False
                setattr(group, name, text.copy())
            for name in long:
                setattr(group, name, None)
    platform = getattr(row, _OF_REPEATED)
    for name, text in platform.items():
        platform[name] = text.copy()
    return True


def _is_within(group: Mapping[str, Any], name: str, low: float, high: float) -> bool:
    value = group.get(name)
    return value is None or low <= value <= high
