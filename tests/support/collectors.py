"""Helpers for the tests of collectors."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.collector import Run
from benchmarker.orchestration.collector_session import CollectorSession

RUN = Run("numpy", "mnist_mlp")
ANONYMOUS = Run("numpy", "mnist_mlp", anonymous=True)
NAMES = ["cpu", "gpus", "host", "load", "memory", "os", "source_control", "virtualization"]


def built_in(*names: str) -> dict[str, Any]:
    """Return the plugins of these names; all built-in ones without names."""
    return {name: registry.load(registry.find("collectors", name)) for name in names or NAMES}


def collected(plugins: dict[str, Any], run: Run = RUN) -> CollectorSession:
    """Return what the collectors make of a run that does nothing."""
    with CollectorSession(run, plugins, {}) as collection:
        collection.before_timing()
    return collection


def git(*arguments: str) -> str:
    """Return what git prints in the working directory."""
    command = [
        "git",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        *arguments,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def make_checkout(folder: Path) -> None:
    """Make a git checkout with one commit."""
    git("init", "--quiet", "--initial-branch=topic", str(folder))
    (folder / "file").write_text("one")
    git("-C", str(folder), "add", "file")
    git("-C", str(folder), "commit", "--quiet", "--message=one")
