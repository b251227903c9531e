"""Plugins that are broken, or claim a taken name, are reported by name; everything else goes on."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.errors import PluginError, UsageError
from benchmarker.graph.network import Network
from benchmarker.hookspecs import fault
from benchmarker.version import OWN_DISTRIBUTIONS
from tests.conftest import Command

PROBLEM = """
from benchmarker.api.problem import Problem
from benchmarker.problems.mnist_mlp import Parameters, build
def benchmarker_problem():
    return Problem("{name}", "a task", "a source", Parameters, build)
"""
Distribution = Callable[..., Path]


def listed(command: Command, kind: str) -> dict[str, dict[str, Any]]:
    finished = command("list", kind, "--json")
    assert finished.status == 0, finished.stderr
    return {row["name"]: row for row in json.loads(finished.stdout)}


@pytest.mark.framework("numpy")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import a_package_that_is_absent",
            "ModuleNotFoundError: No module named 'a_package_that_is_absent' (bad_problem.py, line 1)",
        ),
        ("this is no Python", "failed to import: SyntaxError: invalid syntax (bad_problem.py, line 1)"),
        ("x = 1", "defines no function 'benchmarker_problem'"),
        ("def benchmarker_problem(): return 42", "returned int from benchmarker_problem(), not Problem"),
        (
            "def benchmarker_problem(): raise ValueError('oops')",
            "failed in benchmarker_problem(): ValueError: oops (bad_problem.py, line 1)",
        ),
        (PROBLEM.format(name="another"), "calls itself 'another', not 'bad'"),
        (PROBLEM.format(name="bad") + "def benchmarker_probelm(): pass", "hook specifications"),
        (
            "def benchmarker_problem(unknown): return 42",
            "Argument(s) {'unknown'} are declared in the hookimpl but can not be found in the hookspec",
        ),
        ("raise RuntimeError('one\\ntwo')", "failed to import: RuntimeError: one (bad_problem.py, line 1)"),
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


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import os; os._exit(5)", "failed to import: SystemExit: os._exit(5)"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "failed to import: RuntimeError: Odd: x"),
        ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.1)\nwhile True: pass",
         "failed to import: TimeoutError: it did not end within 20 s"),
        ("def benchmarker_problem():\n import os; print('noise'); os.abort()", "SystemExit: os.abort()"),
    ],
)  # fmt: skip
def test_a_plugin_that_exits_or_never_ends_is_named(
    command: Command, distribution: Distribution, source: str, message: str
) -> None:
    folder = distribution("bad-one", {"problems": ["bad = bad_problem"]}, {"bad_problem": source})
    rows = listed(command.with_path(folder), "problems")
    assert message in rows["bad"]["note"]
    assert rows["resnet50"]["usable"]


NOISY = """
import os, sys
print("imported")
os.write(1, b"bytes of a library")
from benchmarker.api.problem import Problem
from benchmarker.problems.mnist_mlp import Parameters, build as build_it
def build(net, parameters):
    print("built")
    {more}
    build_it(net, parameters)
def benchmarker_problem():
    print("described")
    return Problem("noisy", "a task", "a source", Parameters, build)
"""


def test_what_a_plugin_prints_spoils_no_json(command: Command, distribution: Distribution) -> None:
    folder = distribution("noisy", {"problems": ["noisy = noisy"]}, {"noisy": NOISY.format(more="")})
    noisy = command.with_path(folder)
    assert listed(noisy, "problems")["noisy"]["usable"]
    planned = noisy("--framework=numpy", "--problem=noisy", "--dry-run", "--json")
    assert [json.loads(line)["problem"] for line in planned.stdout.splitlines()] == ["noisy"]
    shown = noisy("show", "noisy", "--json")
    assert json.loads(shown.stdout)["name"] == "noisy"


def test_a_problem_that_exits_while_it_is_built_is_named(
    command: Command, distribution: Distribution
) -> None:
    source = NOISY.format(more="os._exit(0)")
    folder = distribution("noisy", {"problems": ["noisy = noisy"]}, {"noisy": source})
    planned = command.with_path(folder)("--framework=numpy", "--problem=noisy", "--dry-run", "--json")
    assert (planned.status, planned.stdout) == (2, "")
    assert "problem 'noisy' failed in build(): SystemExit: os._exit(0)" in planned.stderr


@pytest.mark.framework("numpy")
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
    ours, second = sorted(row["origin"].split()[0] for row in rows)
    assert (ours in OWN_DISTRIBUTIONS, second) == (True, "second")
    assert not any(row["usable"] for row in rows)
    chosen = with_it("--framework=numpy", "--problem=mnist_mlp")
    assert chosen.status == 2
    assert "claimed by benchmarker" in chosen.stderr
    assert "second 1.0" in chosen.stderr
    other = with_it(
        "--framework=numpy", "--problem=conv2d", "--set=height=8", "--set=width=8", "--steps=2", "--json"
    )
    assert other.status == 0, other.stderr


@pytest.mark.framework("numpy")
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
    assert problem.graph(np.int64(3)) == problem.graph(3)  # type: ignore[arg-type]
    assert type(problem.graph(np.int64(3)).batch_size) is int  # type: ignore[arg-type]
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


def test_a_hook_that_was_renamed_is_told_with_its_new_name(
    command: Command, distribution: Distribution
) -> None:
    source = "def benchmarker_watch_apart(pid): ...\n"
    folder = distribution("old-one", {"collectors": ["old = old_collector"]}, {"old_collector": source})
    note = listed(command.with_path(folder), "collectors")["old"]["note"]
    assert "'benchmarker_watch_apart'" in note
    assert "'benchmarker_watch_untimed'" in note


def test_a_fault_of_one_plugin_is_none_of_the_next() -> None:
    def chart() -> None:
        """What pictures are made of."""

    good, wrong = types.ModuleType("good"), types.ModuleType("wrong")
    good.benchmarker_chart = chart  # type: ignore[attr-defined]
    wrong.benchmarker_chart = lambda more: more  # type: ignore[attr-defined]
    wrong.benchmarker_other = chart  # type: ignore[attr-defined]
    first = fault(wrong, "charts", "picture")
    assert first is not None
    assert "does not match" in first
    assert fault(good, "charts", "picture") is None
    assert fault(wrong, "charts", "picture") == first
    assert fault(types.ModuleType("empty"), "charts", "picture") == "defines no function 'benchmarker_chart'"
    assert fault(good, "charts", "other") is None
