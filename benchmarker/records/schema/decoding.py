"""A record's JSON becomes the typed record: whatever breaks a rule of the schema is refused while it is read."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from benchmarker.machine.typed_values import decoder, typed
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.schema.kinds import MEMBERS, NARROWED, REQUIRED
from benchmarker.records.schema.members import Group, Value, members_of
from benchmarker.records.schema.record import Record
from benchmarker.records.schema.versions import VERSIONS, is_since

_decode = decoder(Record).decode


def decode(data: bytes) -> Record | None:
    """Return the typed record of a JSON text, of any version; None if it breaks a rule of the schema.

    What an older version lacks is ``msgspec.UNSET``.
    """
    try:
        record = _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return record if is_complete(record, record.schema_version) else None


def convert(record: Mapping[str, Any]) -> Record | None:
    """Return the same of a record that is an object in memory, whose numbers are finite."""
    try:
        found = typed(record, Record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if is_complete(found, found.schema_version) else None


def with_whole_numbers(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with 8 for 8.0 where it must be a whole number: JSON Schema knows no difference."""
    return {**record, **_whole_members(record, Record)}


def _whole_members(value: Mapping[str, Any], group: Group) -> dict[str, Any]:
    members = members_of(group)
    return {name: _whole(member, members[name].value) for name, member in value.items() if name in members}


def _whole(value: Any, kind: Value) -> Any:
    if isinstance(value, float) and kind.json_type == "integer" and value.is_integer():
        return int(value)
    if isinstance(value, list) and kind.items:
        return [_whole(item, kind.items) for item in value]
    if isinstance(value, dict):
        others = (
            {name: _whole(member, kind.others) for name, member in value.items()} if kind.others else value
        )
        return {**others, **(_whole_members(value, kind.group) if kind.group else {})}
    return value


def is_complete(record: msgspec.Struct, version: str) -> bool:
    """Tell whether a record has all that its version must have, in its open objects too."""
    return all(check.holds(record) for check in _checks(type(record), version))


@dataclass(frozen=True)
class _OpenObject:
    """What an open object must have: the members of a group and these names."""

    name: str
    group: Group | None
    later: attrgetter[tuple[Any, ...]] | None
    names: tuple[str, ...]

    def holds(self, value: Any) -> bool:
        """Tell whether a value has all that; null and what an older version lacks need not."""
        if not isinstance(value, dict):
            return True
        if not all(name in value for name in self.names):
            return False
        if self.group is None:
            return True
        try:
            known = typed(value, self.group)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        return not (self.later and msgspec.UNSET in self.later(known))


@dataclass(frozen=True)
class _Check:
    """What the types alone do not say of the group at a path: what it has since the version, and its open objects."""

    path: tuple[str, ...]
    later: attrgetter[tuple[Any, ...]] | None
    open_objects: tuple[_OpenObject, ...]

    def holds(self, record: Any) -> bool:
        """Tell whether a record keeps it."""
        group = record
        for step in self.path:
            group = getattr(group, step)
            if not group:
                return True
        if self.later and msgspec.UNSET in self.later(group):
            return False
        return all(one.holds(getattr(group, one.name)) for one in self.open_objects)


@functools.cache
def _checks(group: Group, version: str) -> tuple[_Check, ...]:
    return tuple(_found(group, version, ()))


def _found(group: Group, version: str, path: tuple[str, ...]) -> Iterator[_Check]:
    members = members_of(group)
    open_objects = []
    for name, member in members.items():
        value = member.value
        if value.group and value.others is None:
            yield from _found(value.group, version, (*path, name))
        since, narrowed = value.notes.get(NARROWED, (VERSIONS[0], None))
        inner = narrowed if is_since(version, since) and narrowed else value.notes.get(MEMBERS)
        names = value.notes.get(REQUIRED, ())
        if inner or names:
            open_objects.append(_OpenObject(name, inner, _later(inner, version), names))
    later = _later(group, version)
    if later or open_objects:
        yield _Check(path, later, tuple(open_objects))


def _later(group: Group | None, version: str) -> attrgetter[tuple[Any, ...]] | None:
    """Return what reads the members that records of a version must have and those of the oldest had not."""
    members = members_of(group) if group else {}
    since = {
        name: member.since for name, member in members.items() if member.since not in (None, VERSIONS[0])
    }
    names = [name for name, version_of in since.items() if version_of and is_since(version, version_of)]
    # One name alone would be read as a value, so the first is read twice.
    return attrgetter(names[0], *names) if names else None
