"""A plug-in of several top-level modules reaches the worker whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarker.execution import import_roots as roots
from tests.conftest import Command

PROBLEM = """
from first_helpers import build_it
from benchmarker.api.problem import Problem
from benchmarker.problems.mnist_mlp import Parameters
def build(net, parameters):
    build_it(net, parameters)
def benchmarker_problem():
    return Problem("two_modules", "a task", "a source", Parameters, build)
"""
HELPERS = "from benchmarker.problems.mnist_mlp import build as build_it"
Distribution = Callable[..., Path]


@pytest.mark.framework("numpy")
def test_a_plugin_of_two_modules_runs(command: Command, distribution: Distribution) -> None:
    folder = distribution(
        "two",
        {"problems": ["two_modules = first_problem"]},
        {"first_problem": PROBLEM, "first_helpers": HELPERS},
    )
    done = command.with_path(folder)(
        "--framework=numpy", "--problem=two_modules", "--steps=2", "--warmup=0", "--no-verify", "--json"
    )
    assert done.status == 0, done.stderr
    assert done.records[0]["problem"]["name"] == "two_modules"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("top_level.txt", "first_problem\nfirst_helpers\nabsent_module\n"),
        ("RECORD", "first_problem.py,,\nfirst_helpers.py,,\n../../bin/x,,\ntwo-1.0.dist-info/METADATA,,\n"),
        (None, ""),
    ],
)
def test_modules_of_a_distribution(
    distribution: Distribution, monkeypatch: pytest.MonkeyPatch, file: str | None, text: str
) -> None:
    folder = distribution("two", {}, {"first_problem": "import first_helpers", "first_helpers": ""})
    (folder / "of_somebody_else.py").write_text("")
    if file:
        (folder / "two-1.0.dist-info" / file).write_text(text)
    monkeypatch.syspath_prepend(folder)
    found = roots.import_roots(("first_problem:x",))
    assert {name: found[name] for name in found if name != "benchmarker"} == {
        "first_problem": str(folder),
        "first_helpers": str(folder),
    }
