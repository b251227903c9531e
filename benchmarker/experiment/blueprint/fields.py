"""The fields of a blueprint: one declaration gives the check, its sentences and the schema for editors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from benchmarker import registry
from benchmarker.api.given_values import shown
from benchmarker.api.optimizer import constants, hyperparameters
from benchmarker.api.rules import (
    FINITE,
    MAX_FLOAT,
    Choice,
    Flag,
    Found,
    OneOrMany,
    Real,
    Rule,
    RuleOfParts,
    Text,
    Whole,
    null_faults,
)
from benchmarker.api.tables import Table
from benchmarker.errors import BenchmarkerError, nearest
from benchmarker.experiment.acceptance import LIMITS
from benchmarker.experiment.options import OPTION_OF_KEY
from benchmarker.experiment.training_settings import OWNER, is_of_training
from benchmarker.problems.layers.declared import LOSSES, layer_faults
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.fields import TableOf
from benchmarker.training.recipe import Training


@dataclass(frozen=True)
class Plain(Rule):
    """A text, a finite number, true or false."""

    @property
    def allowed(self) -> str:
        return "a text, a finite number, true or false"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (int, float)):
            return -MAX_FLOAT <= value <= MAX_FLOAT
        return isinstance(value, str) and "\0" not in value

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"], **FINITE, "pattern": r"^[^\u0000]*$"}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value."""
        return null_faults(value) or super().faults(value)


_SETTING = OneOrMany(Plain())


class Layers(RuleOfParts):
    """The layers of an inline architecture."""

    @property
    def allowed(self) -> str:
        return "a list of layers, the first an InputLayer"

    def schema(self) -> dict[str, Any]:
        return {
            "type": "array",
            "prefixItems": [{"$ref": "#/$defs/input"}],
            "items": {"$ref": "#/$defs/layer"},
            "minItems": 2,
        }

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the layers."""
        return layer_faults(value)


_NAMED_PROBLEM = Table("a table with 'name' or 'layers'", {"name": Text("a name")}, ("name",), _SETTING)
_INLINE_PROBLEM = Table(
    "a table with 'name' or 'layers'",
    {"layers": Layers(), "loss": OneOrMany(Choice(LOSSES)), "softmax": OneOrMany(Flag())},
    ("layers",),
)


class Problem(RuleOfParts):
    """A problem: its name, a table with its name and parameters, or a table with layers."""

    @property
    def allowed(self) -> str:
        return "a name, or a table with 'name' or 'layers'"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Text().schema(), _NAMED_PROBLEM.schema(), _INLINE_PROBLEM.schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the problem."""
        if not isinstance(value, Mapping):
            return Text(self.allowed).faults(value)
        if "name" not in value and "layers" not in value:
            return [((), "needs 'name', the name of a problem, or 'layers', a list of layers")]
        if "name" in value and _are_layers(value.get("layers")):
            others = {name: member for name, member in value.items() if name != "layers"}
            message = (
                "cannot be given together with 'name': a problem is either named or described by its layers"
            )
            return [(("layers",), message), *_NAMED_PROBLEM.faults(others)]
        return (_NAMED_PROBLEM if "name" in value else _INLINE_PROBLEM).faults(value)


def _are_layers(value: Any) -> bool:
    """Tell whether these are layers, not values of a parameter that is called so."""
    return isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value)


@dataclass(frozen=True)
class NameOrTable(RuleOfParts):
    """A name, or a table with settings of what it names."""

    name: Rule
    table: Rule

    @property
    def allowed(self) -> str:
        return f"{self.name.allowed}, or {self.table.allowed}"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.name.schema(), self.table.schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the name or with the table."""
        if isinstance(value, Mapping):
            return self.table.faults(value)
        if isinstance(value, str):
            return self.name.faults(value)
        return [] if self.name.accepts(value) else [((), f"must be {self.allowed}, got {shown(value)}")]


_FRAMEWORK = NameOrTable(
    Text("a name like 'pytorch' or 'pytorch==2.13.0'"),
    Table(
        "a table with 'name'",
        {"name": Text("a name"), "version": OneOrMany(Text("a version like '2.13.0'"))},
        ("name",),
        _SETTING,
    ),
)


class OptimizerName(Rule):
    """The name of an optimizer that is installed, or a file that holds one."""

    @property
    def allowed(self) -> str:
        return f"{Choice(registry.names('optimizers')).allowed}, or a file that ends in .py"

    def accepts(self, value: Any) -> bool:
        """Tell whether it is such a name; of a file only its ending is looked at."""
        return isinstance(value, str) and (value in registry.names("optimizers") or value.endswith(".py"))

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [{"enum": list(registry.names("optimizers"))}, {"type": "string", "pattern": r"\.py$"}]
        }

    def faults(self, value: Any) -> list[Found]:
        """Return what is wrong with the name; one that is near is offered."""
        known = registry.names("optimizers")
        return [(steps, text + nearest(value, known)) for steps, text in super().faults(value)]


class OptimizerTable(RuleOfParts):
    """A table with the kind of an optimizer and its constants."""

    @property
    def allowed(self) -> str:
        return "a table with 'kind' and constants"

    def schema(self) -> dict[str, Any]:
        return self._table().schema()

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the kind and each constant."""
        if isinstance(value, Mapping):
            kinds = value.get("kind", ())
            for kind in (kinds,) if isinstance(kinds, str) else kinds if isinstance(kinds, list) else ():
                self._load(kind)
        return self._table().faults(value)

    def _table(self) -> Table:
        known = {name: OneOrMany(rule) for name, rule in hyperparameters().items()}
        return Table(self.allowed, {"kind": OneOrMany(OptimizerName()), **known})

    @staticmethod
    def _load(kind: Any) -> None:
        """Make a rule's constants known; what is wrong with it is told by the check of its name."""
        if isinstance(kind, str) and not constants(kind):
            with suppress(BenchmarkerError):
                registry.update_rule(kind)


_OPTIMIZER = NameOrTable(OptimizerName(), OptimizerTable())


class SuiteName(Rule):
    """The name of a suite that is installed."""

    @property
    def allowed(self) -> str:
        return "the name of a suite, as 'list suites' has them"

    def accepts(self, value: Any) -> bool:
        """Tell whether there is such a suite."""
        return isinstance(value, str) and value in registry.suites()

    def schema(self) -> dict[str, Any]:
        return {"enum": list(registry.suites())}

    def faults(self, value: Any) -> list[Found]:
        """Return what is wrong with the name; one that is near is offered."""
        return [
            (steps, text + nearest(value, tuple(registry.suites()))) for steps, text in super().faults(value)
        ]


class Settings(RuleOfParts):
    """Parameters and options by name, or by owner and name; those of the recipe's table are checked in that table."""

    @property
    def allowed(self) -> str:
        return "a table of values, or of tables for individual problems and frameworks"

    def schema(self) -> dict[str, Any]:
        owned = {"type": "object", "additionalProperties": _SETTING.schema()}
        return {
            "type": "object",
            "properties": {OWNER: {"type": "object"}},
            "patternProperties": {rf"^{OWNER}\.": {}},
            "additionalProperties": {"anyOf": [_SETTING.schema(), owned]},
        }

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the settings."""
        if not isinstance(value, Mapping):
            return [((), f"must be {self.allowed}, got {shown(value)}")]
        return [fault for name, member in value.items() for fault in self._member(name, member)]

    @staticmethod
    def _member(name: str, member: Any) -> Iterator[Found]:
        owned = isinstance(member, Mapping)
        if is_of_training(name) or (name == OWNER and owned):
            return
        for inner, value in (member if owned else {name: member}).items():
            for steps, message in _SETTING.faults(value):
                yield ((name, inner, *steps) if owned else (name, *steps)), message


@dataclass(frozen=True)
class Field:
    """A field of a blueprint: what it may hold, and what it is."""

    rule: Rule
    description: str


FIELDS: Mapping[str, Field] = {
    "description": Field(Text(), "What the experiment is about, for people."),
    "problem": Field(
        OneOrMany(Problem()), "A problem's name, its name and parameters, or its layers; or a list of these."
    ),
    "suite": Field(OneOrMany(SuiteName()), "Problems from a published list."),
    "sample": Field(Whole(), "How many configurations of each suite, spread by cost; default: all."),
    "framework": Field(
        OneOrMany(_FRAMEWORK), "A framework's name, or its name with version and options; or a list of these."
    ),
    "set": Field(
        Settings(),
        "Parameters and options for all problems and frameworks that have them; training.PLACE is of the recipe.",
    ),
    "optimizer": Field(
        OneOrMany(_OPTIMIZER), "An optimizer's kind, or its kind with constants; default: the problem's."
    ),
    **{key: Field(option.blueprint_rule, option.description) for key, option in OPTION_OF_KEY.items()},
    "training": Field(
        TableOf(Training),
        "Training to a stated quality: target, limits, split, order, schedules; this makes the blueprint a recipe.",
    ),
    "accept": Field(
        Table("a table of thresholds", {name: Real() for name in LIMITS}),
        "Limits on what is measured; the exit status is 1 if one is not met.",
    ),
    "results": Field(
        Text("a folder"),
        "Where records are written: a folder or an address; default: results.",
    ),
}
"""Every field of a blueprint, by name: the run options, and what they are of."""

REQUIRED = (("problem", "suite"), ("framework",))
"""Fields without a default, each with what may stand in its place; options of the command may give them instead."""


def field_faults(data: Mapping[str, Any]) -> list[Found]:
    """Return everything that is wrong with the fields of a blueprint, each by itself."""
    found: list[Found] = []
    for name, value in data.items():
        if name not in FIELDS:
            offered = nearest(name, tuple(FIELDS)) or f"; known: {', '.join(FIELDS)}"
            found.append(((name,), f"is not a field of a blueprint{offered}"))
        else:
            found += [((name, *steps), message) for steps, message in FIELDS[name].rule.faults(value)]
    return found
