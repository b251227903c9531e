"""What the structs say of the members of a group: the one reader of their annotations and docstrings."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

import msgspec
from msgspec import structs

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.schema.kinds import MEMBERS, READING, UNIT, Since
from benchmarker.records.schema.versions import VERSIONS

Group = type[msgspec.Struct]


@dataclass(frozen=True)
class Value:
    """What a value may be.

    Parameters
    ----------
    kind : type
        Its type but for null.
    nullable : bool
        Whether it may be null.
    bounds : mapping
        Its limits, as :class:`msgspec.Meta` names them.
    notes : mapping
        What :mod:`benchmarker.records.schema.kinds` has noted of it.
    """

    kind: Any
    nullable: bool
    bounds: Mapping[str, Any]
    notes: Mapping[str, Any]

    @property
    def json_type(self) -> str | None:
        """Its type in JSON Schema; None for any."""
        return _JSON_TYPES.get(get_origin(self.kind) or self.kind, "object")

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that it may be; none if it may be others."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def unit(self) -> str | None:
        """The unit of a number, or of the numbers of a list."""
        found: str | None = self.notes.get(UNIT)
        return found or (self.items.unit if self.items else None)

    @property
    def group(self) -> Group | None:
        """The members of an object, whether or not it may have others."""
        is_group = isinstance(self.kind, type) and issubclass(self.kind, msgspec.Struct)
        found: Group | None = self.kind if is_group else self.notes.get(MEMBERS)
        return found

    @property
    def is_reading(self) -> bool:
        """Whether it is what a collector has read, in which a name stands for it."""
        return READING in self.notes

    @property
    def items(self) -> Value | None:
        """What is in a list."""
        return self._inner(list)

    @property
    def others(self) -> Value | None:
        """What an open object or a map has; of a closed object None."""
        return self._inner(dict)

    def _inner(self, container: type) -> Value | None:
        return value_of(get_args(self.kind)[-1]) if get_origin(self.kind) is container else None


_JSON_TYPES: Mapping[Any, str | None] = {
    str: "string",
    Literal: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    Any: None,
}
_BOUNDS = ("ge", "le", "gt", "min_length", "max_length", "pattern")


@dataclass(frozen=True)
class Member:
    """A member of a group.

    Parameters
    ----------
    name : str
        Its name.
    value : Value
        What it may be.
    since : str or None
        The version since which it must be there; None if it need not be.
    documentation : str or type
        What it means, or the group whose source says it.
    """

    name: str
    value: Value
    since: str | None
    documentation: str | Group

    @property
    def description(self) -> str:
        """The text below it in its group, or the docstring of the group that it is."""
        if isinstance(self.documentation, str):
            return self.documentation
        return documented(self.documentation).get(self.name) or describe(self.value.group)


def value_of(annotation: Any) -> Value:
    """Return what an annotation says of a value."""
    bounds: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    kinds = tuple(_kinds(annotation, bounds, notes))
    (kind,) = (kind for kind in kinds if kind is not NoneType)
    return Value(kind, NoneType in kinds, bounds, notes)


def _kinds(annotation: Any, bounds: dict[str, Any], notes: dict[str, Any]) -> Iterator[Any]:
    """Yield the types that a value may have, and collect its bounds and what is noted of it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        kind, *metas = get_args(annotation)
        for meta in metas:
            bounds.update({name: getattr(meta, name) for name in _BOUNDS if getattr(meta, name) is not None})
            notes.update(meta.extra or {})
        yield from _kinds(kind, bounds, notes)
    elif origin in (Union, UnionType):
        for kind in get_args(annotation):
            yield from _kinds(kind, bounds, notes)
    else:
        yield annotation


@functools.cache
def members_of(group: Group) -> Mapping[str, Member]:
    """Return the members of a group by name, in their order."""
    annotations: dict[str, Any] = {}
    for base in _bases(group):
        annotations |= base.__annotations__
    found = {}
    for field in structs.fields(group):
        since = VERSIONS[0] if field.required else None
        if isinstance(field.default_factory, Since):
            since = field.default_factory.version
        found[field.name] = Member(field.name, value_of(annotations[field.name]), since, group)
    return found


def _bases(group: Group) -> list[Group]:
    """Return a group after all that it inherits from."""
    return [
        base
        for base in reversed(group.__mro__)
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct
    ]


@functools.cache
def documented(group: Group) -> Mapping[str, str]:
    """Return the texts below the members of a group, by name."""
    found: dict[str, str] = {}
    for base in _bases(group):
        found |= _docstrings(sys.modules[base.__module__])[base.__name__]
    return found


def describe(group: Group | None) -> str:
    """Return the docstring of a group on one line."""
    return " ".join((group.__doc__ or "").split()) if group else ""


@functools.cache
def _docstrings(module: Any) -> dict[str, dict[str, str]]:
    """Return the text below each annotated name, by class."""
    tree = ast.parse(inspect.getsource(module))
    return {node.name: dict(_below(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, following in zip(node.body, node.body[1:]):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        text = following.value.value if _is_text(following) else ""
        if text:
            yield statement.target.id, " ".join(text.split())


def _is_text(statement: ast.stmt) -> TypeGuard[Any]:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
