"""Plugins that are broken, or claim a taken name, are reported by name; everything else goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.errors import PluginError, UsageError
from benchmarker.graph.network import Network
from tests.conftest import Command

PROBLEM = """
from benchmarker.problem import Problem
from benchmarker.problems.mnist_mlp import Parameters, build
def benchmarker_problem():
    return Problem("{name}", "a task", "a source", Parameters, build)
"""
Distribution = Callable[..., Path]


def listed(command: Command, kind: str) -> dict[str, dict]:
    finished = command("list", kind, "--json")
    assert finished.status == 0, finished.stderr
    return {row["name"]: row for row in json.loads(finished.stdout)}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import a_package_that_is_absent", "failed to import: ModuleNotFoundError"),
        ("this is no Python", "failed to import: SyntaxError"),
        ("x = 1", "defines no function 'benchmarker_problem'"),
        ("def benchmarker_problem(): return 42", "returned int from benchmarker_problem(), not Problem"),
        (
            "def benchmarker_problem(): raise ValueError('oops')",
            "failed in benchmarker_problem(): ValueError: oops",
        ),
        (PROBLEM.format(name="another"), "calls itself 'another', not 'bad'"),
        (PROBLEM.format(name="bad") + "def benchmarker_probelm(): pass", "hook specifications"),
        (
            "def benchmarker_problem(unknown): return 42",
            "Argument(s) {'unknown'} are declared in the hookimpl but can not be found in the hookspec",
        ),
        ("raise RuntimeError('one\\ntwo')", "failed to import: RuntimeError: one"),
        ("raise SystemExit(3)", "failed to import: SystemExit: 3"),
        (
            "def benchmarker_problem(): raise RuntimeError('one\\ntwo')",
            "failed in benchmarker_problem(): RuntimeError: one",
        ),
    ],
)
def test_a_broken_plugin_is_named_and_left_out(
    command: Command, distribution: Distribution, source: str, message: str
) -> None:
    folder = distribution("bad-one", {"problems": ["bad = bad_problem"]}, {"bad_problem": source})
    with_it = command.with_path(folder)
    rows = listed(with_it, "problems")
    assert not rows["bad"]["usable"]
    assert message in rows["bad"]["note"]
    assert rows["bad"]["origin"] == "bad-one 1.0"
    assert rows["resnet50"]["usable"]
    chosen = with_it("--framework=numpy", "--problem=bad")
    assert chosen.status == 2
    assert chosen.stderr.startswith("benchmarker: problem 'bad' (bad_problem, from bad-one 1.0)")
    assert chosen.stderr.count("\n") == 1
    other = with_it("--framework=numpy", "--problem=mnist_mlp", "--steps=2", "--warmup=0", "--json")
    assert other.status == 0, other.stderr


def test_a_taken_name_is_an_error_only_when_chosen(command: Command, distribution: Distribution) -> None:
    folder = distribution(
        "second",
        {"problems": ["mnist_mlp = second_problem"]},
        {"second_problem": PROBLEM.format(name="mnist_mlp")},
    )
    with_it = command.with_path(folder)
    rows = [
        row for row in json.loads(with_it("list", "problems", "--json").stdout) if row["name"] == "mnist_mlp"
    ]
    assert sorted(row["origin"].split()[0] for row in rows) == ["benchmarker", "second"]
    assert not any(row["usable"] for row in rows)
    chosen = with_it("--framework=numpy", "--problem=mnist_mlp")
    assert chosen.status == 2
    assert "claimed by benchmarker" in chosen.stderr
    assert "second 1.0" in chosen.stderr
    other = with_it(
        "--framework=numpy", "--problem=conv2d", "--set=height=8", "--set=width=8", "--steps=2", "--json"
    )
    assert other.status == 0, other.stderr


def test_a_broken_collector_is_recorded_and_harms_nothing(
    command: Command, distribution: Distribution
) -> None:
    folder = distribution("bad-two", {"collectors": ["odd = odd_collector"]}, {"odd_collector": "1 / 0"})
    finished = command.with_path(folder)(
        "--framework=numpy", "--problem=mnist_mlp", "--steps=2", "--warmup=0", "--json"
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["collectors"]["odd"]["status"] == "failed"
    assert "ZeroDivisionError" in record["collectors"]["odd"]["reason"]
    assert record["collectors"]["cpu"]["status"] == "ok"


def test_an_unknown_name_offers_the_nearest(command: Command) -> None:
    finished = command("--framework=pytroch", "--problem=resnet50")
    assert (finished.status, finished.stderr) == (
        2,
        "benchmarker: unknown framework 'pytroch'; did you mean 'pytorch'?\n",
    )
    finished = command("--framework=numpy", "--problem=resnet5")
    assert finished.stderr == "benchmarker: unknown problem 'resnet5'; did you mean 'resnet50'?\n"


def test_a_mini_batch_is_as_large_as_any_integer_says() -> None:
    problem = registry.problem("mnist_mlp")
    assert problem.graph(np.int64(3)) == problem.graph(3)
    assert type(problem.graph(np.int64(3)).batch_size) is int
    with pytest.raises(UsageError, match=r"the batch size must be a whole number of at least 1, got 2\.5"):
        problem.graph(2.5)  # type: ignore[arg-type]


def test_what_build_raises_is_the_cause_of_the_plugins_error() -> None:
    fault = ZeroDivisionError("one\ntwo")

    def build(net: Network, parameters: Any) -> None:
        raise fault

    broken = replace(registry.problem("mnist_mlp"), build=build)
    with pytest.raises(PluginError) as error:
        broken.graph()
    assert str(error.value) == "problem 'mnist_mlp' failed in build(): ZeroDivisionError: one"
    assert error.value.__cause__ is fault
