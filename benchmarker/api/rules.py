"""What a field may hold: one declaration gives the check, its sentence and its JSON Schema."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, Tuple, Union

from benchmarker.api.given_values import repeated, shown
from benchmarker.errors import nearest
from benchmarker.quick_dataclass import dataclass

Steps = Tuple[Union[str, int], ...]
"""Where in a nested value: names of members and indices of items."""
Found = Tuple[Steps, str]
"""Where something is wrong, and what."""
MAX_COUNT = 2**31 - 1
"""What a size or a number of things may be at most: frameworks keep them in 32 bits."""
MAX_FLOAT = sys.float_info.max
FINITE = {"minimum": -MAX_FLOAT, "maximum": MAX_FLOAT}
"""In JSON Schema, that a number is not infinite, which TOML can write."""


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
        if self.most is not None:
            return f"a whole number from {self.least} to {self.most}"
        return f"a whole number of at least {self.least}"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return value >= self.least and (self.most is None or value <= self.most)

    def schema(self) -> dict[str, Any]:
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
        limits = (
            ("of at least", self.least),
            ("above", self.above),
            ("below", self.below),
            ("at most", self.most),
        )
        bounds = [f"{words} {bound:g}" for words, bound in limits if bound is not None]
        return " and ".join([f"a number {bounds[0]}", *bounds[1:]]) if bounds else "a finite number"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (
            # Not math.isfinite, which fails for a whole number that no float holds.
            -MAX_FLOAT <= value <= MAX_FLOAT
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    def schema(self) -> dict[str, Any]:
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
        return "true or false"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Text(Rule):
    """A text that is not blank and has no null character, which no path and no argument can hold."""

    what: str = "a text"

    @property
    def allowed(self) -> str:
        return self.what

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and bool(value.strip()) and "\0" not in value

    def schema(self) -> dict[str, Any]:
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
        *others, last = (f"'{name}'" for name in self.names)
        return f"{', '.join(others)} or {last}" if others else last

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names

    def schema(self) -> dict[str, Any]:
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
        return f"{self.fewest} to {self.most} whole numbers of at least 1, as a list"

    def accepts(self, value: Any) -> bool:
        fits = isinstance(value, (list, tuple)) and self.fewest <= len(value) <= self.most
        return fits and all(map(Whole().accepts, value))

    def schema(self) -> dict[str, Any]:
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
        return "a whole number of at least 1, or two of them (height and width) as a list"

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        return Whole().accepts(value) or Sizes(2, 2).accepts(value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Whole().schema(), Sizes(2, 2).schema()]}


class RuleOfParts(Rule):
    """What a value may be whose parts have faults of their own."""

    def accepts(self, value: Any) -> bool:
        return not self.faults(value)

    @abstractmethod
    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value and with each of its parts."""

    def _as_own(self, found: list[Found], other: Rule) -> list[Found]:
        """Return another rule's faults, with what this rule allows in those of the whole value."""
        theirs, ours = f"must be {other.allowed}", f"must be {self.allowed}"
        return [(steps, message if steps else message.replace(theirs, ours)) for steps, message in found]


@dataclass(frozen=True)
class ListOf(RuleOfParts):
    """A list of values of one rule, each only once; at least ``fewest``."""

    rule: Rule
    fewest: int = 1

    @property
    def allowed(self) -> str:
        least = f"; at least {self.fewest}" if self.fewest else ""
        return f"a list{least}, each {self.rule.allowed}"

    def schema(self) -> dict[str, Any]:
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
        found += [
            ((index,), f"must be named once, got {shown(value[index])} again") for index in repeated(value)
        ]
        return found


@dataclass(frozen=True)
class OneOrMany(RuleOfParts):
    """A value of a rule, or a list of them, which spans the matrix."""

    rule: Rule

    @property
    def allowed(self) -> str:
        return f"{self.rule.allowed}, or a list of them"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.rule.schema(), ListOf(self.rule).schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the value or with each item of the list."""
        if self.rule.accepts(value):
            return []
        if isinstance(value, (list, tuple)):
            return ListOf(self.rule).faults(value)
        return self._as_own(self.rule.faults(value), self.rule)


@dataclass(frozen=True)
class Sets(RuleOfParts):
    """A list of values, or a list of such lists, which spans the matrix."""

    one: ListOf

    @property
    def allowed(self) -> str:
        return f"{self.one.allowed}, or a list of such lists"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.one.schema(), ListOf(self.one).schema()]}

    def faults(self, value: Any) -> list[Found]:
        """Return everything that is wrong with the list, or with the lists in it."""
        nested = (
            [isinstance(item, (list, tuple)) for item in value] if isinstance(value, (list, tuple)) else []
        )
        if nested and all(nested):
            return ListOf(self.one).faults(value)
        if any(nested):
            return [((), f"must be {self.allowed}, got {shown(value)}")]
        return self._as_own(self.one.faults(value), self.one)
