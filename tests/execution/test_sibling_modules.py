"""A plug-in of several top-level modules reaches the worker whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarker.execution import import_roots as roots
from benchmarker.execution.distributions import distributions
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


def test_distributions_are_read_once_for_a_path(
    distribution: Distribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = distribution("two", {}, {"first_problem": "import first_helpers", "first_helpers": ""})
    monkeypatch.syspath_prepend(made)
    read: list[int] = []

    def counted() -> list[Any]:
        found = [*distributions()]
        read.append(len(found))
        return found

    monkeypatch.setattr(roots, "distributions", counted)
    first, again = roots.import_roots(("first_problem:x",)), roots.import_roots(("first_problem:x",))
    assert first == again
    assert len(read) == 1
    (made / "two-1.0.dist-info" / "top_level.txt").write_text("first_problem\n")
    monkeypatch.syspath_prepend(made.parent)
    assert "first_helpers" not in roots.import_roots(("first_problem:x",))
    assert len(read) == 2
