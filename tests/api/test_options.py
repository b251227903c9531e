"""Text becomes typed options, or one clear sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from benchmarker.api.options import as_text, option_types, parse_options, split_values
from benchmarker.api.rules import Real, Whole
from benchmarker.errors import UsageError


@dataclass(frozen=True)
class Options:
    size: int = 3
    rate: float = 0.5
    fast: bool = False
    name: str = "x"


def parsed(**values: Any) -> Options:
    return parse_options(Options, values, "framework 'tested'")


def test_defaults_stay() -> None:
    assert parsed() == Options()
    assert parsed(size="4") == Options(size=4)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("size", "12", 12),
        ("size", 12, 12),
        ("rate", "0.25", 0.25),
        ("rate", "1e-3", 0.001),
        ("rate", "1", 1.0),
        ("rate", 1, 1.0),
        ("name", "a.b", "a.b"),
        ("name", 3, "3"),
        ("fast", True, True),
        ("fast", False, False),
        *(("fast", text, True) for text in ("true", "True", "yes", "on", "1")),
        *(("fast", text, False) for text in ("false", "FALSE", "no", "off", "0")),
    ],
)
def test_values_get_the_type_of_their_field(name: str, value: Any, expected: Any) -> None:
    found = getattr(parsed(**{name: value}), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("size", "large", "a whole number"),
        ("size", "1.5", "a whole number"),
        ("size", "", "a whole number"),
        ("size", 1.5, "a whole number"),
        ("size", True, "a whole number"),
        ("size", None, "a whole number"),
        ("rate", "quick", "a number"),
        ("rate", "nan", "a number"),
        ("rate", "inf", "a number"),
        ("rate", "1e999", "a number"),
        ("rate", None, "a number"),
        ("fast", "maybe", "true or false"),
        ("fast", "2", "true or false"),
        ("fast", None, "true or false"),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, value: Any, rule: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(**{name: value})
    assert str(refused.value) == f"framework 'tested': '{name}' must be {rule}, got '{value}'"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="framework 'tested' has no parameter 'sise'; did you mean 'size'"):
        parsed(sise=3)
    with pytest.raises(UsageError, match="known: fast, name, rate, size"):
        parsed(zzz=3)


def test_the_types_of_the_fields() -> None:
    assert option_types(Options) == {"size": int, "rate": float, "fast": bool, "name": str}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("", [""]),
        ("a,,b", ["a", "", "b"]),
        ('[{"a":1,"b":[2,3]}],[4]', ['[{"a":1,"b":[2,3]}]', "[4]"]),
        ('["x,]",2],y', ['["x,]",2]', "y"]),
        (r'["x\",",2],y', [r'["x\",",2]', "y"]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a,b', ['"a,b']),
        ("a],b", ["a]", "b"]),
    ],
)
def test_values_are_split_at_commas_that_are_in_nothing(text: str, values: list[str]) -> None:
    assert split_values(text) == values


@pytest.mark.parametrize("value", ["plain", "a,b", '"quoted"', "[1,2]", "[1,2", ",", "1e-3", ""])
def test_a_text_comes_back_from_the_command(value: str) -> None:
    assert split_values(as_text(value)) == [value]
    assert split_values(",".join((as_text(value), "x"))) == [value, "x"]


def test_other_values_as_text() -> None:
    assert [as_text(value) for value in (True, False, 3, 0.1)] == ["true", "false", "3", "0.1"]


@dataclass(frozen=True)
class Bounded:
    size: int = 3
    least: int = -1
    padding: Annotated[int, Whole(0, 9)] = 3
    share: Annotated[float, Real(least=0.0, most=1.0)] = 0.5


def bounded(**values: Any) -> Bounded:
    return parse_options(Bounded, values, "problem 'bounded'")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("size", 0, "a whole number from 1 to 2147483647"),
        ("size", "-3", "a whole number from 1 to 2147483647"),
        ("size", 2**31, "a whole number from 1 to 2147483647"),
        ("least", -2, "a whole number from -1 to 2147483647"),
        ("padding", -1, "a whole number from 0 to 9"),
        ("padding", 10, "a whole number from 0 to 9"),
        ("share", "1.01", "a number of at least 0 and at most 1"),
    ],
)
def test_a_value_outside_of_its_fields_bounds_is_refused(name: str, value: Any, rule: str) -> None:
    with pytest.raises(UsageError) as caught:
        bounded(**{name: value})
    assert str(caught.value) == f"problem 'bounded': '{name}' must be {rule}, got {value}"


def test_the_bounds_themselves_are_allowed() -> None:
    assert bounded(size="1", least="-1", padding="0", share="1") == Bounded(1, -1, 0, 1.0)
    assert bounded(size=2**31 - 1, padding=9, share=0.0) == Bounded(2**31 - 1, padding=9, share=0.0)
    assert option_types(Bounded) == {"size": int, "least": int, "padding": int, "share": float}
