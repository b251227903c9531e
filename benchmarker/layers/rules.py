"""What a field may hold: one declaration gives the check, its sentence and its JSON Schema."""

from __future__ import annotations

import json
import operator
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Tuple, Union

from benchmarker.errors import nearest, printable

Steps = Tuple[Union[str, int], ...]
"""Where in a nested value: names of members and indices of items."""
Found = Tuple[Steps, str]
"""Where something is wrong, and what."""
LARGEST_COUNT = 2**31 - 1
"""What a size or a number of things may be at most: frameworks keep them in 32 bits."""
LARGEST = sys.float_info.max
FINITE = {"minimum": -LARGEST, "maximum": LARGEST}
"""In JSON Schema, that a number is not infinite, which TOML can write."""


def shown(value: Any) -> str:
    """Return a value as people write it, cut to a length that fits on a line."""
    text = printable(f"'{value}'" if isinstance(value, str) else _spelled(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _spelled(value: Any) -> str:
    for spell in (json.dumps, str):
        try:
            return spell(value)
        except (TypeError, ValueError, RecursionError):
            continue
    return f"a value of type {type(value).__name__}"


def plain(value: Any) -> Any:
    """Return a value of Python as JSON and TOML have it, all the way down.

    Tuples and arrays become lists, integers of other types (NumPy's) Python's own, paths text. What has no
    such form stays as it is, for a rule to refuse.

    Raises
    ------
    RecursionError
        If the value contains itself.
    """
    if value is None or isinstance(value, (bool, int, float, str, type)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    try:
        return operator.index(value)
    except TypeError:
        # Other scalars and arrays of NumPy, which is not imported for it.
        return value.tolist() if hasattr(value, "tolist") else value


class Rule(ABC):
    """What a value may be."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, to stand after "must be"."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value."""
        if self.accepts(value):
            return []
        return [((), f"must be {self.allowed}, got {shown(value)}")]


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number, ``least`` or more, ``most`` or less."""

    least: int = 1
    most: int | None = None

    @property
    def allowed(self) -> str:
        """What is allowed."""
        if self.most is not None:
            return f"a whole number from {self.least} to {self.most}"
        return f"a whole number of at least {self.least}"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return value >= self.least and (self.most is None or value <= self.most)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        most = {} if self.most is None else {"maximum": self.most}
        return {"type": "integer", "minimum": self.least, **most}


@dataclass(frozen=True)
class Real(Rule):
    """A finite number within bounds; ``above`` and ``below`` are not reached."""

    least: float | None = None
    above: float | None = None
    below: float | None = None
    most: float | None = None

    @property
    def allowed(self) -> str:
        """What is allowed."""
        limits = (
            ("of at least", self.least),
            ("above", self.above),
            ("below", self.below),
            ("at most", self.most),
        )
        bounds = [f"{words} {bound:g}" for words, bound in limits if bound is not None]
        return " and ".join([f"a number {bounds[0]}", *bounds[1:]]) if bounds else "a finite number"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (
            # Not math.isfinite, which fails for a whole number that no float holds.
            -LARGEST <= value <= LARGEST
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        bounds = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
            "maximum": self.most,
        }
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"type": "number", **FINITE, **given}


@dataclass(frozen=True)
class Flag(Rule):
    """True or false."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "true or false"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, bool)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text(Rule):
    """A text that is not blank and has no null character, which no path and no argument can hold."""

    what: str = "a text"

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return self.what

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, str) and bool(value.strip()) and "\0" not in value

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"type": "string", "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value."""
        return null_faults(value) or super().faults(value)


def null_faults(value: Any) -> list[Found]:
    """Return what is wrong with a text that has a null character, which cannot be seen."""
    if isinstance(value, str) and "\0" in value:
        return [((), f"must have no null character, got {shown(value)}")]
    return []


@dataclass(frozen=True)
class Choice(Rule):
    """One of some names."""

    names: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """What is allowed."""
        *others, last = (f"'{name}'" for name in self.names)
        return f"{', '.join(others)} or {last}" if others else last

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, str) and value in self.names

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"enum": list(self.names)}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value; a name that is near is offered."""
        return [(steps, message + nearest(value, self.names)) for steps, message in super().faults(value)]


@dataclass(frozen=True)
class Sizes(Rule):
    """A list of ``fewest`` to ``most`` sizes."""

    fewest: int
    most: int

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"{self.fewest} to {self.most} whole numbers of at least 1, as a list"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        fits = isinstance(value, (list, tuple)) and self.fewest <= len(value) <= self.most
        return fits and all(map(Whole().accepts, value))

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {
            "type": "array",
            "items": Whole().schema(),
            "minItems": self.fewest,
            "maxItems": self.most,
        }


@dataclass(frozen=True)
class Window(Rule):
    """A size of both spatial axes, or one for each; ``optional`` allows none."""

    optional: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "a whole number of at least 1, or two of them (height and width) as a list"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if value is None:
            return self.optional
        return Whole().accepts(value) or Sizes(2, 2).accepts(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"anyOf": [Whole().schema(), Sizes(2, 2).schema()]}


@dataclass(frozen=True)
class ListOf(Rule):
    """A list of values of one rule, each only once; at least ``fewest``."""

    rule: Rule
    fewest: int = 1

    @property
    def allowed(self) -> str:
        """What is allowed."""
        least = f"; at least {self.fewest}" if self.fewest else ""
        return f"a list{least}, each {self.rule.allowed}"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {
            "type": "array",
            "items": self.rule.schema(),
            "minItems": self.fewest,
            "uniqueItems": True,
        }

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the list and with each of its items."""
        if not isinstance(value, (list, tuple)) or len(value) < self.fewest:
            return [((), f"must be {self.allowed}, got {shown(value)}")]
        found = [
            ((index, *steps), message)
            for index, item in enumerate(value)
            for steps, message in self.rule.faults(item)
        ]
        for index, item in enumerate(value):
            if any(same(item, earlier) for earlier in value[:index]):
                found.append(((index,), f"must be named once, got {shown(item)} again"))
        return found


def same(one: Any, other: Any) -> bool:
    """Tell whether two values of a list are the same, as JSON Schema does: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


@dataclass(frozen=True)
class OneOrMany(Rule):
    """A value of a rule, or a list of them, which spans the matrix."""

    rule: Rule

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"{self.rule.allowed}, or a list of them"

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return not self.faults(value)

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        return {"anyOf": [self.rule.schema(), ListOf(self.rule).schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value or with each item of the list."""
        if self.rule.accepts(value):
            return []
        if isinstance(value, (list, tuple)):
            return ListOf(self.rule).faults(value)
        own = f"must be {self.rule.allowed}"
        return [
            (steps, message if steps else message.replace(own, f"must be {self.allowed}"))
            for steps, message in self.rule.faults(value)
        ]
