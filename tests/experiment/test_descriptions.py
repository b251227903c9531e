"""What is kept of built-in plug-ins is what they say, and commands that only show it import none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarker import registry
from benchmarker.experiment import descriptions
from tests.conftest import ROOT


def test_what_plugins_say_of_themselves_is_kept() -> None:
    hint = "run python -m benchmarker.analysis.documentation descriptions"
    assert descriptions.DESCRIPTIONS.read_text(encoding="utf-8") == descriptions.descriptions_text(), hint


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "_kept", dict)


@pytest.mark.parametrize("kind", registry.DESCRIBED_KINDS)
def test_a_description_that_is_not_kept_is_asked_for(kind: str, request: pytest.FixtureRequest) -> None:
    entries = [entry for entry in registry.entries() if entry.kind == kind]
    kept = [descriptions.description(entry) for entry in entries]
    request.getfixturevalue("nothing_kept")
    assert kept == [descriptions.description(entry) for entry in entries]
    assert all(text for text, _ in kept)
    assert any(source for _, source in kept) == (kind == "schemes")


def test_suites_and_constants_that_are_not_kept_are_asked_for(request: pytest.FixtureRequest) -> None:
    entries = [entry for entry in registry.entries() if entry.kind == "suites"]
    suites = [descriptions.suites(entry) for entry in entries]
    constants = {name: tuple(row) for name, row in descriptions.constants().items()}
    request.getfixturevalue("nothing_kept")
    assert suites == [descriptions.suites(entry) for entry in entries]
    assert list(constants.items()) == list(descriptions.constants().items())
    assert [suite.configurations for suite in suites[-1] if suite.name == "osu-bw"] == [21]
    assert constants["trust"] == ("lars", "")
    assert constants["ema"] == ("any optimizer", "")


@pytest.mark.parametrize("arguments", [["list"], ["run", "--help"]])
def test_what_only_says_what_it_is_is_not_imported(arguments: list[str]) -> None:
    rooms = ("benchmarker.training", "benchmarker.distributed", "benchmarker.experiment.suites")
    script = (
        "import atexit, sys; from benchmarker.cli.main import main; "
        f"atexit.register(lambda: print(sorted(n for n in sys.modules if n.startswith({rooms})))); main({arguments})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert finished.stdout.splitlines()[-1] == "[]"
