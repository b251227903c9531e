"""A plug-in as 0.4.0's example had it runs once its imports are those that the docs name, and nothing else of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command

SOURCES = ROOT / "tests" / "data" / "plugin_of_0_4_0"
PREFIX = "written_for_0_4_0_"
KINDS = {
    "frameworks": ("tiny", "framework"),
    "problems": ("two_layers", "problem"),
    "collectors": ("uptime", "collector"),
}
_MOVED = re.compile(r"^\| `from (\S+) import ([^`]*)` \| `from (\S+) import(?: \2)?`(?: the same)? \|", re.M)
_IMPORT = re.compile(r"^from (benchmarker\S*) import (.*)$", re.M)


def moved_names() -> dict[tuple[str, str], str]:
    """Return where each name of a module is now, as ``docs/plugins.md`` says."""
    rows = _MOVED.findall((ROOT / "docs" / "plugins.md").read_text())
    return {(old, name): new for old, names, new in rows for name in names.split(", ")}


def with_new_imports(source: str) -> str:
    moved = moved_names()

    def changed(line: re.Match[str]) -> str:
        places = {moved[line[1], name] for name in line[2].split(", ")}
        return "\n".join(f"from {place} import {line[2]}" for place in places)

    return _IMPORT.sub(changed, source)


@pytest.fixture
def older(command: Command, distribution: Callable[..., Path]) -> Command:
    modules = {
        f"{PREFIX}{path.stem}": with_new_imports(path.read_text()) for path in sorted(SOURCES.glob("*.txt"))
    }
    points = {kind: [f"{name} = {PREFIX}{module}"] for kind, (name, module) in KINDS.items()}
    place = distribution("written-for-0-4-0", points, modules)
    return replace(command, environment={**command.environment, "PYTHONPATH": str(place)})


def test_only_imports_change() -> None:
    for path in SOURCES.glob("*.txt"):
        before, after = path.read_text().splitlines(), with_new_imports(path.read_text()).splitlines()
        assert [line for line in before if not _IMPORT.match(line)] == [
            line for line in after if not _IMPORT.match(line)
        ]


def test_it_measures_and_is_verified(older: Command) -> None:
    finished = older(
        "run", "--framework=tiny", "--problem=two_layers", "--mode=inference", "--steps=5", "--warmup=1",
        "--env=current", "--json",
    )  # fmt: skip
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    assert record["status"] == "ok"
    assert record["verification"]["status"] == "passed"
    uptime = record["platform"]["uptime"]
    assert uptime["problem"] == "two_layers"
    assert uptime["after_seconds"] > uptime["before_seconds"]
