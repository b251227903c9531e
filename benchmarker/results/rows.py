"""What the flat table takes of a record: all but its long lists, which are passed over and never become objects."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from benchmarker.results.fields import is_left_out
from benchmarker.results.migration import Plan, newest, newest_plan
from benchmarker.results.reading import parse_record
from benchmarker.schema import NEWEST, Record, load_schema

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

Row = Record | msgspec.Struct
"""A record whose groups are objects or, with the members that the schema knows, structs."""


class _Text(NamedTuple):
    """A member that stays JSON: its name, what it may begin with, and whether it is for the table."""

    name: str
    beginnings: bytes
    is_kept: bool


class _Rest(NamedTuple):
    """What the types do not tell of a group at a path: its texts and, of an open one, the names it must have."""

    path: tuple[str, ...]
    texts: tuple[_Text, ...]
    names: frozenset[str]


def parse_row(data: bytes) -> Row:
    """Return what the flat table takes of a file's bytes: a record of any version that this release knows.

    Raises
    ------
    DamagedError
        If they are not JSON or not a record.
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
    return newest(parse_record(data))


@functools.cache
def _reader() -> tuple[Any, tuple[_Rest, ...]]:
    schema, plan = load_schema(), newest_plan()
    kind = _struct_of("", {**schema, "properties": {**schema["properties"], "schema_version": {}}}, plan)
    return msgspec.json.Decoder(kind).decode, tuple(_rests((), schema, plan))


def _struct_of(before: str, node: Mapping[str, Any], plan: Plan | None) -> Any:
    """Return the type of a group whose members the schema names."""
    parts = {part[0]: part[1:] for part in plan.parts} if plan else {}
    fields: list[Any] = []
    for name, member in node["properties"].items():
        own = before + name
        kind, may_be_null, inner = parts.get(name, (None, True, None))
        if own == "schema_version":
            found: Any = Literal[NEWEST]
        elif _stays_text(own, member, kind):
            found = msgspec.Raw
        elif own == _OF_REPEATED:
            found = dict[str, msgspec.Raw]
        elif kind is dict and member.get("additionalProperties") is False:
            found = _struct_of(f"{own}.", member, inner)
        else:
            found = {dict: dict[str, Any], list: list[Any]}.get(kind, Any)
        if may_be_null and found not in (Any, msgspec.Raw):
            found = found | None
        required = plan is not None and name in plan.names
        fields.append((name, found) if required else (name, found, None))
    return msgspec.defstruct(before or "record", fields, kw_only=True, gc=False)


def _stays_text(name: str, member: Mapping[str, Any], kind: Any) -> bool:
    # A closed group has members of its own, whose presence is looked at.
    is_closed = kind is dict and member.get("additionalProperties") is False
    return kind is not None and not is_closed and (name in _REPEATED or is_left_out(name))


def _rests(path: tuple[str, ...], node: Mapping[str, Any], plan: Plan) -> Iterator[_Rest]:
    texts = []
    for name, kind, may_be_null, inner in plan.parts:
        own, member = ".".join((*path, name)), node["properties"][name]
        if _stays_text(own, member, kind):
            beginnings = (b"[" if kind is list else b"{") + b"n" * may_be_null
            texts.append(_Text(name, beginnings, own in _REPEATED))
        elif inner and member.get("additionalProperties") is False:
            yield from _rests((*path, name), member, inner)
        elif inner and inner.names:
            yield _Rest((*path, name), (), inner.names)
    if texts:
        yield _Rest(path, tuple(texts), frozenset())


def _is_whole(row: Any, rests: tuple[_Rest, ...]) -> bool:
    """Tell whether all is there, and let go of the file's bytes."""
    for path, texts, names in rests:
        group = row
        for part in path:
            group = getattr(group, part)
            if group is None:
                break
        else:
            if names and not names <= group.keys():
                return False
            for name, beginnings, is_kept in texts:
                text = getattr(group, name)
                if memoryview(text)[0] not in beginnings:
                    return False
                setattr(group, name, text.copy() if is_kept else None)
    platform = getattr(row, _OF_REPEATED)
    for name, text in platform.items():
        platform[name] = text.copy()
    return True
