"""What one run option says of itself, for all that read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from benchmarker.api.given_values import real_number, whole_number
from benchmarker.api.rules import Flag, ListOf, OneOrMany, Real, Rule, Sets, Whole
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

_OPTION = "option"
NONE = "none"
"""What the command line has for an empty set."""


@dataclass(frozen=True)
class RunOption:
    """One declaration, which the command line, blueprints, planning, records and tables read.

    Parameters
    ----------
    rule : Rule
        What one value may be.
    help : str
        What it is, in a line, for the command and for blueprints.
    default : object
        Of a run; also what a record means that was made before there was the option.
    name : str
        Of the field of :class:`~benchmarker.experiment.spec.RunSpec` and of the member of a specification.
    axis : str
        Its name in an :class:`~benchmarker.experiment.spec.Experiment`, in the plural, if its values span the matrix;
        empty if one value holds for all runs.
    key : str
        Its name in blueprints and, with hyphens, on the command line; empty if that is ``name``.
    group : {"what", "where", "ranks", "amount", "checkpoints", "output"}
        Where the command's help shows it.
    metavar : str
        How the help calls a value; empty if that follows from the rule.
    computed : bool
        Whether planning works out the value where none is given, so that a blueprint's default is not ``default``.
    modes : tuple of str
        The modes that it is for; empty for all. In others a run has the default.
    compares : {"always", "changed", "never"}
        Whether records of different values do different work: always, only from a value other than the default
        on (so that records from before the option stay comparable), or never.
    measures : bool
        Whether it says for how long and with what beside it is measured, which changes no step.
    specified : bool
        Whether it is part of a specification: runs that differ in it do not measure the same.
    spelled_out : bool
        Whether the command that repeats a run says it at its default too.
    holds_path : bool
        Whether a value may be a path, with somebody's name in it.
    plugins : str
        The kind of plugins that values name.
    caption : str
        How a table says a value once, with ``{}`` for it; empty for the name before it.
    title : str
        The heading of its column in a table; empty if that is ``name``.
    always_shown : bool
        Whether a table says it at its default too.
    owner : str
        The option that this one belongs to: a table shows it if it differs among rows with the same value of that.
    of_recipes : bool
        Whether a training by a recipe takes it; the others are for the recipe to say, or mean nothing there.
    only_recipes : bool
        Whether nothing but a training by a recipe takes it.
    recorded_at : str
        Where a record of version 1.0, which has no specification, says the same.
    """

    rule: Rule
    help: str
    default: Any = None
    name: str = ""
    axis: str = ""
    key: str = ""
    group: str = "amount"
    metavar: str = ""
    computed: bool = False
    modes: tuple[str, ...] = ()
    compares: str = "never"
    measures: bool = False
    specified: bool = True
    spelled_out: bool = False
    holds_path: bool = False
    plugins: str = ""
    caption: str = ""
    title: str = ""
    always_shown: bool = False
    owner: str = ""
    of_recipes: bool = True
    only_recipes: bool = False
    recorded_at: str = ""

    @property
    def keyword(self) -> str:
        return self.axis or self.key

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.key.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        """Whether the command has ``--name`` and ``--no-name`` instead of values."""
        return isinstance(self.rule, Flag)

    @property
    def is_set(self) -> bool:
        """Whether one value is a list of its own."""
        return isinstance(self.rule, ListOf)

    @property
    def unset_value(self) -> Any:
        """What an experiment has where nothing is given."""
        nothing = self.computed or self.default in (None, ())
        if self.axis:
            return () if nothing else (self.default,)
        return None if self.computed else self.default

    @property
    def blueprint_rule(self) -> Rule:
        """What a blueprint's field may hold."""
        if not self.axis:
            return self.rule
        return Sets(self.rule) if isinstance(self.rule, ListOf) else OneOrMany(self.rule)

    @property
    def description(self) -> str:
        """The help as a sentence, for blueprints."""
        sets = "; a list of lists tries several" if self.axis and self.is_set else ""
        usual = f"; default: {str(self.default).lower()}" if self.is_switch else ""
        return f"{self.help[0].upper()}{self.help[1:]}{sets}{usual}."

    def faults(self, value: Any) -> list[str]:
        """Return a sentence for each thing that is wrong with a value."""
        return [f"{self.key} {message}" for _, message in self.rule.faults(value)]

    def check(self, value: Any) -> None:
        """Refuse a value that is not allowed; None is none.

        Raises
        ------
        UsageError
            With the rule, the value and what would be right.
        """
        for sentence in self.faults(value) if value is not None else ():
            raise UsageError(sentence)

    def typed(self, value: Any) -> Any:
        """Return an allowed value of a blueprint in the type that a run has: numbers with a unit as floats."""
        if isinstance(self.rule, Real):
            return float(value)
        return tuple(value) if self.is_set else value

    def taken(self, value: Any) -> Any:
        """Return an allowed value, or list of values, of a blueprint's field as an experiment takes it."""
        if not self.axis:
            return self.typed(value)
        several = isinstance(value, (list, tuple))
        if self.is_set:
            several = isinstance(value[0], (list, tuple))
        return tuple(map(self.typed, value if several else [value]))

    def values_of(self, experiment: Any) -> tuple[Any, ...]:
        """Return the values that an experiment gives, none if it leaves the option to its default."""
        given = getattr(experiment, self.keyword)
        if self.axis:
            return tuple(given)
        return () if given is None else (given,)

    def is_given(self, experiment: Any) -> bool:
        """Tell whether an experiment gives a value that is not the default."""
        return any(value != self.default for value in self.values_of(experiment))

    def parse(self, text: str) -> Any:
        """Return one value, or one member of a set, from the command line.

        Raises
        ------
        ValueError
            If it is no number where there must be one.
        """
        rule = self.rule.rule if isinstance(self.rule, ListOf) else self.rule
        if isinstance(rule, Whole):
            return whole_number(text)
        return real_number(text) if isinstance(rule, Real) else text

    def arguments(self, value: Any) -> list[str]:
        """Return how the command says a value of a run; nothing where it has it without being told."""
        if value is None or (value == self.default and not self.spelled_out):
            return []
        if self.is_switch:
            return [self.flag if value else f"--no-{self.flag.removeprefix('--')}"]
        text = ",".join(map(str, value)) or NONE if self.is_set else str(value)
        return [f"{self.flag}={text}"]


def option(rule: Rule, help: str, **more: Any) -> Any:
    """Return a dataclass field that is a run option.

    Parameters
    ----------
    rule : Rule
        What one value may be.
    help : str
        What it is, in a line.
    **more
        Of :class:`RunOption`.
    """
    declared = RunOption(rule, help, **more)
    return field(default=declared.default, metadata={_OPTION: declared})


def options_of(declaring: type[Any]) -> Mapping[str, RunOption]:
    """Return the options among the fields of a dataclass, by name, in their order."""
    return {
        member.name: replace(declared, name=member.name, key=declared.key or member.name)
        for member in dataclasses.fields(declaring)
        if (declared := member.metadata.get(_OPTION)) is not None
    }
