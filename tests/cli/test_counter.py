"""How far something is, on a terminal alone."""

from __future__ import annotations

import sys

import pytest

from benchmarker.cli import counter
from benchmarker.cli.counter import taking


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_what_is_taken_is_told_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, quiet: bool
) -> None:
    monkeypatch.setattr(counter, "SECONDS", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert list(taking("ab", 2, "records read", quiet=quiet)) == ["a", "b"]
    told = "benchmarker: 0 of 2 records read\nbenchmarker: 1 of 2 records read\n"
    assert capsys.readouterr().err == (told if terminal and not quiet else "")
