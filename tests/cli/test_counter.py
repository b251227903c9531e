"""How far something is: a bar on a terminal that is gone at the end, a line elsewhere."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from benchmarker.cli import counter
from benchmarker.cli.counter import Count, taking
from tests.support.terminal import shown


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass between any two looks at the clock."""
    clock = itertools.count()
    monkeypatch.setattr(counter, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(counter, "SECONDS", 0.5)


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> str:
    """Return what is written to standard error, a terminal, by what is called."""
    screen, side = pty.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    with os.fdopen(side, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        act()
    written = b""
    with contextlib.suppress(OSError):  # which is how a terminal says that all has been read
        while part := os.read(screen, 1 << 16):
            written += part
    os.close(screen)
    return written.decode()


@pytest.mark.usefixtures("seconds")
def test_what_is_taken_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    written = on_a_terminal(monkeypatch, lambda: taken.extend(taking("abcd", 4, "records read", quiet=False)))
    assert taken == ["a", "b", "c", "d"]
    assert "3 of 4 records read, about 1 s left" in written
    assert shown(written, 80) == []


@pytest.mark.usefixtures("seconds")
def test_counting_that_ends_early_leaves_the_terminal_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_a_while() -> None:
        Count(9, "records added")(3)
        counter.clear()

    written = on_a_terminal(monkeypatch, count_a_while)
    assert "3 of 9 records added" in written
    assert shown(written, 80) == []


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize("quiet", [True, False])
def test_what_is_taken_is_not_told_elsewhere(capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    assert list(taking("ab", 2, "records read", quiet=quiet)) == ["a", "b"]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("seconds")
def test_what_takes_long_is_a_line_from_time_to_time_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    count = Count(2, "records checked")
    for done in range(3):
        count(done)
    told = "benchmarker: 0 of 2 records checked\nbenchmarker: 1 of 2 records checked\n"
    assert capsys.readouterr().err == told
