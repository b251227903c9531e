"""Any value for any argument of the Python calls: done, or refused with the error that is documented, in one line.

As :mod:`tests.cli.test_any_option` has it for the command line, but values may be of any type here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import benchmarker
from benchmarker.errors import UsageError
from tests.cli.test_any_option import NUMBERS, TEXTS, files
from tests.cli.test_any_option import folder as folder

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, 0.0, -0.0, 1.5, 1e308, float("nan"), float("inf"), 1j, b"x",
    b"\xff", "\ud800", "\0", Path("nothing"), Path(), [], (), {}, set(), object, object(), len, range(3), range(10**9),
    [[]], [None], ["numpy"], ["numpy", "numpy"], ["numpy", 1], {"a": 1}, {1: 2}, {"a": [1, 2]}, {"act": None}, {"": ""},
    {"a": {"b": []}},
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(ODD),
    st.sampled_from(NUMBERS + TEXTS),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.sampled_from(ODD), max_size=3),
    st.dictionaries(
        st.sampled_from(["hidden1", "numpy.threads", "", "a.b", "momentum"]), st.sampled_from(ODD), max_size=2
    ),
)
RUN: dict[str, Any] = {"framework": "numpy", "problem": "mnist_mlp", "dry_run": True}
TRAIN: dict[str, Any] = {"recipe": "digits_mlp", "framework": "numpy", "dry_run": True}
COMPARE: dict[str, Any] = {"results": "results"}
ITSELF: dict[str, Any] = {"record": "last", "pairs": 2, **COMPARE}


def names(call: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(call).parameters.values() if p.kind in kinds]


def check(here: Path, call: Callable[..., Any], *values: Any, **keywords: Any) -> None:
    before, refused = files(here), None
    try:
        call(*values, **keywords)
    except UsageError as error:
        refused = str(error)
    if refused is not None:
        assert refused
        assert "Traceback" not in refused
        assert files(here) == before


def test_what_is_changed_is_all_right_without_that(folder: Path) -> None:
    assert len(benchmarker.run(**RUN).plan) == 1
    assert len(benchmarker.run(**TRAIN).plan) == 1
    assert len(benchmarker.load_results(COMPARE["results"])) == 1


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from([n for n in names(benchmarker.run) if n not in ("dry_run", "progress")]),
    value=VALUES,
)
def test_any_value_for_any_argument_of_run(folder: Path, name: str, value: Any) -> None:
    check(folder, benchmarker.run, **{**RUN, name: value})


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from([n for n in names(benchmarker.run) if n not in ("dry_run", "progress")]),
    value=VALUES,
)
def test_any_value_for_any_argument_of_a_training(folder: Path, name: str, value: Any) -> None:
    check(folder, benchmarker.run, **{**TRAIN, name: value})


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(name=st.sampled_from([n for n in names(benchmarker.compare) if n != "progress"]), value=VALUES)
@example(name="pairs", value="3")
@example(name="margin", value="5%")
def test_any_value_for_any_argument_of_compare(folder: Path, name: str, value: Any) -> None:
    check(folder, benchmarker.compare, "framework=numpy", "last", **{**COMPARE, name: value})


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(side=VALUES, other=VALUES)
def test_any_values_as_sides(folder: Path, side: Any, other: Any) -> None:
    check(folder, benchmarker.compare, side, other)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(name=st.sampled_from(["record", *names(benchmarker.compare_with_itself)]), value=VALUES)
def test_any_value_for_any_argument_of_a_comparison_with_itself(folder: Path, name: str, value: Any) -> None:
    if name != "progress":
        check(folder, benchmarker.compare_with_itself, **{**ITSELF, name: value})


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(name=st.sampled_from(["path", "framework", "batch_size", "since", "a.b", "status"]), value=VALUES)
def test_any_value_for_any_argument_of_load_results(folder: Path, name: str, value: Any) -> None:
    check(folder, benchmarker.load_results, **{name: value})
