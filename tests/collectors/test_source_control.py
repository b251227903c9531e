"""The state of the sources: right, quick, without locks, without credentials."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarker.api.collector import Run
from benchmarker.collectors.source_control import choose_remote, own_checkout, without_credentials
from benchmarker.orchestration.collector_session import CollectorSession, own_copy
from tests.conftest import Started
from tests.support.collectors import ANONYMOUS, built_in, collected, git, make_checkout

RUN = Run("numpy", "mnist_mlp")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    make_checkout(folder)
    monkeypatch.chdir(folder)
    return folder


def test_commit_branch_and_dirty_flag(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("remote", "add", "fork", "https://example.org/fork.git")
    git("remote", "add", "origin", "https://alice:ghp_s3cret@example.org/alice/work.git?token=s3cret")
    (checkout / "below").mkdir()
    # Without the promise to take no lock, git would note the new time of the file in its index.
    os.utime(checkout / "file", (1, 1))
    index = (checkout / ".git" / "index").read_bytes()
    monkeypatch.chdir(checkout / "below")
    collector = built_in("source_control")
    readings = collected(collector).readings["source_control"]
    assert readings["working_directory"] == {
        "commit": git("rev-parse", "HEAD"),
        "branch": "topic",
        "dirty": False,
        "remote": "https://example.org/alice/work.git",
        "reason": None,
    }
    assert (readings["benchmarker"] is None) == (own_checkout() is None)
    assert (checkout / ".git" / "index").read_bytes() == index
    (checkout / "file").write_text("two")
    hidden = collected(collector, ANONYMOUS).readings["source_control"]["working_directory"]
    assert hidden == {"commit": git("rev-parse", "HEAD"), "dirty": True, "reason": None}


def test_without_a_checkout_or_git_there_is_nothing_to_read(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = collected(built_in("source_control")).statuses["source_control"]
    assert outcome == {"status": "absent", "reason": "git is not installed"}


def test_a_checkout_in_a_state_of_its_own(checkout: Path) -> None:
    git("checkout", "--quiet", "--detach")
    (checkout / "untracked").write_text("new")
    facts = collected(built_in("source_control")).readings["source_control"]["working_directory"]
    assert (facts["branch"], facts["remote"], facts["dirty"]) == (None, None, False)
    git("init", "--quiet", "--initial-branch=young", "new")
    os.chdir("new")
    facts = collected(built_in("source_control")).readings["source_control"]["working_directory"]
    assert (facts["commit"], facts["branch"]) == (None, "young")


def test_git_that_hangs_is_ended(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nsleep 600\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("benchmarker.collectors.source_control.WAIT_SECONDS", 0.3)
    readings = collected(built_in("source_control")).readings["source_control"]["working_directory"]
    assert readings["commit"] is None
    assert "took longer than 0.3 s" in readings["reason"]
    assert started() == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://user:token@host/a/b.git", "https://host/a/b.git"),
        ("https://token@host/a/b.git#frag", "https://host/a/b.git"),
        ("https://user:p/a@s?s#@host/b.git", "https://host/b.git"),
        ("ssh://git@host:22/a/b.git", "ssh://host:22/a/b.git"),
        ("alice@host:a/b.git", "host:a/b.git"),
        ("../elsewhere/@scope/b", "../elsewhere/@scope/b"),
    ],
)
def test_credentials_never_stay_in_a_remote(address: str, expected: str) -> None:
    assert without_credentials(address) == expected


def test_remote_is_origin_else_the_first() -> None:
    assert choose_remote("remote.a.url one\nremote.b.url two") == "one"
    assert choose_remote("remote.a.url one\nremote.origin.url two\nremote.origin.url three") == "two"
    assert choose_remote("") is None


def test_two_runs_at_once_have_a_collector_each(checkout: Path) -> None:
    (collector,) = built_in("source_control").values()
    with (
        CollectorSession(RUN, {"one": own_copy(collector)}, {}) as one,
        CollectorSession(RUN, {"other": own_copy(collector)}, {}) as other,
    ):
        for session in (one, other):
            session.before_timing()
    commit = git("rev-parse", "HEAD")
    for name, session in (("one", one), ("other", other)):
        assert session.statuses[name] == {"status": "ok", "reason": None}
        assert session.readings[name]["working_directory"]["commit"] == commit
