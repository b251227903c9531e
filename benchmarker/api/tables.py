"""The rule of a table with named members: one declaration gives the check, its sentences and the schema."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from benchmarker.api.given_values import shown
from benchmarker.api.rules import Found, Rule, RuleOfParts
from benchmarker.errors import nearest
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Table(RuleOfParts):
    """A table with some named members and, if ``others`` says so, any others of one rule."""

    what: str
    members: Mapping[str, Rule]
    required: tuple[str, ...] = ()
    others: Rule | None = None

    @property
    def allowed(self) -> str:
        return self.what

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: rule.schema() for name, rule in self.members.items()},
            "required": list(self.required),
            "additionalProperties": self.others.schema() if self.others else False,
        }

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the table and each member."""
        if not isinstance(value, Mapping):
            return [((), f"must be {self.allowed}, got {shown(value)}")]
        missing = [name for name in self.required if name not in value]
        found: list[Found] = [((), f"needs '{name}', {self.members[name].allowed}") for name in missing]
        for name, member in value.items():
            rule = self.members.get(name, self.others)
            if rule is None:
                known = ", ".join(self.members)
                offered = nearest(name, tuple(self.members)) or f"; known: {known}"
                found.append(((name,), f"is not known{offered}"))
            else:
                found += [((name, *steps), message) for steps, message in rule.faults(member)]
        return found


def field_rules(kind: type[Any]) -> Mapping[str, Rule]:
    """Return what each field of a dataclass may hold: its rule stands in the annotation."""
    if kind not in _FIELD_RULES:
        hints = typing.get_type_hints(kind, include_extras=True)
        _FIELD_RULES[kind] = {f.name: hints[f.name].__metadata__[0] for f in dataclasses.fields(kind)}
    return _FIELD_RULES[kind]


_FIELD_RULES: dict[type[Any], Mapping[str, Rule]] = {}
"""Of the dataclasses that were asked for: to evaluate annotations takes some tenths of a millisecond."""


def required_fields(kind: type[Any]) -> list[str]:
    """Return the fields of a dataclass that have no default."""
    missing = dataclasses.MISSING
    return [f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing]
