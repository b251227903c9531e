"""The fields of a blueprint: one declaration gives the check, its sentences and the schema for editors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarker import registry
from benchmarker.acceptance import LIMITS
from benchmarker.errors import nearest
from benchmarker.experiment import LEVELS
from benchmarker.experiment_faults import COMPILE_CACHES, DATA, DEVICES, INPUTS, SAMPLINGS, STARTS
from benchmarker.framework import MODES, OPTIMIZERS, PRECISIONS
from benchmarker.hyperparameters import HYPERPARAMETERS
from benchmarker.layers.declared import LOSSES, layer_faults
from benchmarker.layers.rules import (
    FINITE,
    LARGEST,
    Choice,
    Flag,
    Found,
    ListOf,
    OneOrMany,
    Real,
    Rule,
    Text,
    Whole,
    null_faults,
    shown,
)
from benchmarker.replication import PROFILES


@dataclass(frozen=True)
class Plain(Rule):
    """A text, a finite number, true or false."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a text, a finite number, true or false"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if isinstance(value, (int, float)):
            return -LARGEST <= value <= LARGEST
        return isinstance(value, str) and "\0" not in value

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"type": ["string", "number", "boolean"], **FINITE, "pattern": r"^[^\u0000]*$"}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value."""
        return null_faults(value) or super().faults(value)


_SETTING = OneOrMany(Plain())


@dataclass(frozen=True)
class Table(Rule):
    """A table with some named members and, if ``others`` says so, any others of one rule."""

    what: str
    members: Mapping[str, Rule]
    required: tuple[str, ...] = ()
    others: Rule | None = None

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return self.what

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
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


class Layers(Rule):
    """The layers of an inline architecture."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a list of layers, the first an InputLayer"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not layer_faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
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


class Problem(Rule):
    """A problem: its name, a table with its name and parameters, or a table with layers."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a name, or a table with 'name' or 'layers'"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"anyOf": [Text().schema(), _NAMED_PROBLEM.schema(), _INLINE_PROBLEM.schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the problem."""
        if not isinstance(value, Mapping):
            return Text(self.allowed).faults(value)
        if "name" not in value and "layers" not in value:
            return [((), "needs 'name', the name of a problem, or 'layers', a list of layers")]
        if "name" in value and _are_layers(value.get("layers")):
            others = {name: member for name, member in value.items() if name != "layers"}
            message = "cannot stand beside 'name': a problem is either named or described by its layers"
            return [(("layers",), message), *_NAMED_PROBLEM.faults(others)]
        return (_NAMED_PROBLEM if "name" in value else _INLINE_PROBLEM).faults(value)


def _are_layers(value: Any) -> bool:
    """Tell whether these are layers, not values of a parameter that is called so."""
    return isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value)


@dataclass(frozen=True)
class NameOrTable(Rule):
    """A name, or a table with settings of what it names."""

    name: Rule
    table: Table

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"{self.name.allowed}, or {self.table.allowed}"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
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
_OPTIMIZER = NameOrTable(
    Choice(OPTIMIZERS),
    Table(
        "a table with 'kind' and constants",
        {
            "kind": OneOrMany(Choice(OPTIMIZERS)),
            **{name: OneOrMany(rule) for name, rule in HYPERPARAMETERS.items()},
        },
    ),
)


class SuiteName(Rule):
    """The name of a suite that is installed."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "the name of a suite, as 'list suites' has them"

    def accepts(self, value: Any) -> bool:
        """Tell whether there is such a suite."""
        return isinstance(value, str) and value in registry.suites()

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"enum": list(registry.suites())}

    def faults(self, value: Any) -> list[Found]:
        """Return what is wrong with the name; one that is near is offered."""
        return [
            (steps, text + nearest(value, tuple(registry.suites()))) for steps, text in super().faults(value)
        ]


class Settings(Rule):
    """Parameters and options by name, or by owner and name."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a table of values, or of tables for single problems and frameworks"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        owned = {"type": "object", "additionalProperties": _SETTING.schema()}
        return {"type": "object", "additionalProperties": {"anyOf": [_SETTING.schema(), owned]}}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the settings."""
        if not isinstance(value, Mapping):
            return [((), f"must be {self.allowed}, got {shown(value)}")]
        return [fault for name, member in value.items() for fault in self._member(name, member)]

    @staticmethod
    def _member(name: str, member: Any) -> Iterator[Found]:
        owned = isinstance(member, Mapping)
        for inner, value in (member if owned else {name: member}).items():
            for steps, message in _SETTING.faults(value):
                yield ((name, inner, *steps) if owned else (name, *steps)), message


class Sets(Rule):
    """A list of whole numbers, or a list of such lists, which spans the matrix."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a list of whole numbers of at least 0, or a list of such lists"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        one = ListOf(Whole(0))
        return one.accepts(value) or ListOf(one).accepts(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        one = ListOf(Whole(0))
        return {"anyOf": [one.schema(), ListOf(one).schema()]}


@dataclass(frozen=True)
class Field:
    """A field of a blueprint: what it may hold, and what it is."""

    rule: Rule
    description: str


FIELDS: Mapping[str, Field] = {
    "description": Field(Text(), "What the experiment is about, for people."),
    "problem": Field(
        OneOrMany(Problem()), "A problem by name, with its parameters, or layer by layer; or a list of them."
    ),
    "suite": Field(OneOrMany(SuiteName()), "Problems as somebody has listed them."),
    "sample": Field(Whole(), "How many configurations of each suite, spread by cost; default: all."),
    "framework": Field(OneOrMany(_FRAMEWORK), "A framework by name, with version and options; or several."),
    "set": Field(Settings(), "Parameters and options of all problems and frameworks that have them."),
    "mode": Field(OneOrMany(Choice(MODES)), "What a step does; default: training."),
    "batch_size": Field(OneOrMany(Whole()), "Samples in a mini-batch; default: the problem's."),
    "precision": Field(OneOrMany(Choice(PRECISIONS)), "Number format; default: fp32."),
    "optimizer": Field(
        OneOrMany(_OPTIMIZER), "An optimizer by kind, with its constants; default: the problem's."
    ),
    "seed": Field(OneOrMany(Whole(0)), "Seed of weights and mini-batches; default: 42."),
    "device": Field(OneOrMany(Choice(DEVICES)), "Where it computes; default: cpu."),
    "gpus": Field(Sets(), "Indices of the GPUs to use; a list of lists tries several."),
    "threads": Field(OneOrMany(Whole()), "Threads inside operators; default: physical cores."),
    "affinity": Field(Sets(), "CPUs that a run is bound to; a list of lists tries several."),
    "env": Field(OneOrMany(Text()), "Interpreter: auto, current, managed or a path; default: auto."),
    "launcher": Field(OneOrMany(Text("a name")), "How the isolated process is started; default: local."),
    "start": Field(
        OneOrMany(Choice(STARTS)), "A new interpreter, or a fork of one that is warm; default: spawn."
    ),
    "compile_cache": Field(
        OneOrMany(Choice(COMPILE_CACHES)),
        "What is compiled: kept for the next process, or cold for each; default: kept.",
    ),
    "data": Field(OneOrMany(Choice(DATA)), "Data set; without one, mini-batches are drawn from the seed."),
    "data_dir": Field(Text("a folder"), "Folder of the data set's files."),
    "inputs": Field(
        OneOrMany(Choice(INPUTS)), "Mini-batches on the device beforehand, or brought in each step."
    ),
    "steps": Field(OneOrMany(Whole()), "Timed steps; default: about 3 s of them, at least 20."),
    "warmup": Field(OneOrMany(Whole(0)), "Untimed steps before; default: about 1 s of them, at least 3."),
    "problem_size": Field(OneOrMany(Whole()), "Samples of an epoch, a multiple of the batch size."),
    "epochs": Field(OneOrMany(Whole()), "Passes over problem_size samples; default: 1."),
    "window": Field(
        OneOrMany(Real(above=0.0)), "Seconds that inference is repeated for, instead of a number of steps."
    ),
    "repeats": Field(Whole(), "Fresh processes for each run; default: 1."),
    "profile": Field(Choice(tuple(PROFILES)), "Until a number is known this well, instead of repeats."),
    "half_width": Field(Real(above=0.0, below=1.0), "Relative half-width of the 95 % interval to reach."),
    "min_processes": Field(Whole(), "Fresh processes of a run at least."),
    "max_processes": Field(Whole(), "Fresh processes of a run at most."),
    "budget": Field(Real(above=0.0), "Seconds that the processes of a run may take together."),
    "seconds": Field(Real(above=0.0), "Length of the timed part, without steps; default: 3."),
    "min_samples": Field(Whole(), "Samples at least, without steps; default: 20."),
    "sampling": Field(
        OneOrMany(Choice(SAMPLINGS)),
        "Synchronised each step (latency) or each block of steps (throughput); default: throughput in training.",
    ),
    "breakdown": Field(
        Flag(), "Whether to time the parts of a step, and its operators, too; default: false."
    ),
    "micro_batch": Field(
        OneOrMany(Whole()), "Samples of each of the micro-batches that a mini-batch is trained in."
    ),
    "fold_batch_norm": Field(
        Flag(), "Whether inference folds batch normalizations into convolutions; default: false."
    ),
    "level": Field(
        Choice(LEVELS), "Operators by themselves, networks without an optimizer, or training; sets the mode."
    ),
    "price_per_hour": Field(Real(least=0.0), "What the machine costs, for the cost of a run."),
    "timeout": Field(Real(above=0.0), "Seconds after which a run is ended."),
    "verify": Field(Flag(), "Whether to compare with the reference first; default: true."),
    "monitors": Field(ListOf(Text("a name"), 0), "Collectors to use; default: all."),
    "accept": Field(
        Table("a table of thresholds", {name: Real() for name in LIMITS}),
        "Limits of what is measured; beyond one the exit status is 1.",
    ),
    "early_stop": Field(
        Flag(), "Whether to leave out larger batch sizes once one has run out of memory; default: false."
    ),
    "results": Field(Text("a folder"), "Where records are written; default: results."),
    "anonymous": Field(Flag(), "Whether host and user names stay out of records; default: false."),
}
"""Every field of a blueprint, by name."""

REQUIRED = (("problem", "suite"), ("framework",))
"""Fields without a default, each with what may stand in its place; options of the command may give them instead."""


def field_faults(data: Mapping[str, Any]) -> list[Found]:
    """Return everything that is wrong with the fields of a blueprint, each by itself."""
    found: list[Found] = []
    for name, value in data.items():
        if name not in FIELDS:
            offered = nearest(name, tuple(FIELDS)) or f"; known: {', '.join(FIELDS)}"
            found.append(((name,), f"is no field of a blueprint{offered}"))
        else:
            found += [((name, *steps), message) for steps, message in FIELDS[name].rule.faults(value)]
    return found
