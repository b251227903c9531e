"""Tables of a recipe as frozen dataclasses: the rule of a field stands in its annotation, as with layers."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from benchmarker.api.given_values import plain, shown
from benchmarker.api.rules import Found, ListOf, Real, Rule, RuleOfParts
from benchmarker.api.tables import Table, field_rules, required_fields
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

_Table = TypeVar("_Table")


@dataclass(frozen=True)
class TableOf(RuleOfParts):
    """A table with the fields of a dataclass, which may know of further faults: ``table_faults(values)``."""

    kind: type[Any]

    @property
    def allowed(self) -> str:
        return f"a table with {', '.join(field_rules(self.kind))}"

    def schema(self) -> dict[str, Any]:
        return self._table().schema()

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the table and each of its fields."""
        own = getattr(self.kind, "table_faults", None)
        return self._table().faults(value) or (list(own(value)) if own else [])

    def _table(self) -> Table:
        return Table(self.allowed, field_rules(self.kind), tuple(required_fields(self.kind)))


def tables_by_name(names: Sequence[str], table: TableOf) -> Table:
    """Return the rule of tables of one kind, by some names."""
    return Table(f"a table of tables, by {', '.join(names)}", dict.fromkeys(names, table))


@dataclass(frozen=True)
class Read(RuleOfParts):
    """What a class method ``parse`` reads, which says itself what is wrong.

    Parameters
    ----------
    what : str
        What it reads.
    reader : str
        ``"module:class"``, imported when there is something to read.
    """

    what: str
    reader: str

    @property
    def allowed(self) -> str:
        return self.what

    def schema(self) -> dict[str, Any]:
        return {"description": self.what}

    def faults(self, value: Any) -> list[Found]:
        """Return what is wrong with the value."""
        module, _, name = self.reader.partition(":")
        if isinstance(value, (int, float)) or value is None:
            return [((), f"must be {self.what}, got {shown(value)}")]
        try:
            getattr(importlib.import_module(module), name).parse(value)
        except UsageError as error:
            return [((), f"is not valid: {error}")]
        return []


@dataclass(frozen=True)
class Numbers(Rule):
    """A list of numbers, in which one may stand several times; at least one."""

    rule: Rule

    @property
    def allowed(self) -> str:
        return f"a list of numbers, each {self.rule.allowed}"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (list, tuple)) and bool(value) and all(map(self.rule.accepts, value))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.rule.schema(), "minItems": 1}


def made(kind: type[_Table], values: Mapping[str, Any], what: str) -> _Table:
    """Return a table as the object that it is.

    Parameters
    ----------
    kind : type
        Its dataclass.
    values : mapping
        As TOML or JSON has them.
    what : str
        What the table is, for the message, e.g. ``"the schedule"``.

    Raises
    ------
    UsageError
        With the first thing that is wrong.
    """
    for steps, message in TableOf(kind).faults(values):
        where = ".".join(str(step) for step in steps)
        raise UsageError(f"{what}: {where} {message}" if where else f"{what} {message}")
    return _made(kind, values)


def _made(kind: type[_Table], values: Mapping[str, Any]) -> _Table:
    known = field_rules(kind)
    return kind(**{name: _typed(known[name], value) for name, value in values.items()})


def _typed(rule: Rule, value: Any) -> Any:
    """Return an allowed value in the type that the field has."""
    if isinstance(rule, TableOf):
        return _made(rule.kind, value)
    if isinstance(rule, Table):
        return {name: _typed(rule.members[name], member) for name, member in value.items()}
    if isinstance(rule, Numbers):
        return tuple(map(float, value))
    if isinstance(rule, Read):
        return tuple(value) if isinstance(value, list) else value
    if isinstance(rule, ListOf):
        return tuple(_typed(rule.rule, item) for item in value)
    return float(value) if isinstance(rule, Real) and value is not None else value


def to_json(table: Any) -> dict[str, Any]:
    """Return a table as JSON values: every field, defaults included, but for those that are None.

    A table of which some fields do not belong to its kind has ``field_names``, the names of the others.
    """
    names = getattr(table, "field_names", None) or [field.name for field in dataclasses.fields(table)]
    values = ((name, getattr(table, name)) for name in names)
    return {name: _json(value) for name, value in values if value is not None}


def _json(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_json(value)
    if isinstance(value, Mapping):
        return {name: _json(member) for name, member in value.items()}
    return [_json(item) for item in value] if isinstance(value, tuple) else plain(value)
