"""Runs of several ranks as the command makes them: small, in the environments that have MPI."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CACHE_HOME, Command, Finished, command_environment

MLP = ("--problem=mnist_mlp", "--batch-size=64", "--threads=1", "--monitors=none")
BRIEF = ("--steps=6", "--warmup=1")
NUMPY = ("--framework=numpy", *MLP, *BRIEF)
PARAMETER_BYTES = 4 * (784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10)
"""Of mnist_mlp in float32; checked against the records of its runs."""
counted = pytest.mark.usefixtures("counted_network")
emulated = pytest.mark.usefixtures("emulated_network")


def rank_command(folder: Path, *path: Path) -> Command:
    """Return the command in a folder, with the environments of all frameworks and folders of modules before its own."""
    environment = {**command_environment(folder, CACHE_HOME), "COLUMNS": "200"}
    return Command(folder, environment).with_path(*path)


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a folder, as they were begun."""
    records = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]
    return sorted(records, key=lambda record: str(record["started_at"]))


def proven(finished: Finished, records: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Return the records, those printed or others, after seeing that all was proven of each."""
    found = finished.records if records is None else records
    assert [_why_not(record) for record in found if _why_not(record)] == []
    assert finished.status == 0, finished.stderr
    return found


def _why_not(record: dict[str, Any]) -> str:
    verification = record["verification"]
    after = verification["after_timing"]
    if record["status"] == "ok" and verification["status"] == after["status"] == "passed":
        return ""
    reason = record["error"]["message"] if record["error"] else (verification["reason"], after)
    return f"{record['distributed']}: {record['status']}: {reason}"


def check(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what was looked at after the timed part under a name."""
    (found,) = (one for one in record["verification"]["after_timing"]["checks"] if one["name"] == name)
    return dict(found)


def processes_of(folder: Path) -> list[int]:
    """Return the processes that have a test's folder in their environment, those that have ended not."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"BENCHMARKER_TEST_FOLDER={folder}".encode() in environment and state != "Z":
            found.append(int(process.name))
    return found


def left(command: Command) -> list[int]:
    """Return what still runs of a command a moment after it has ended."""
    deadline = time.monotonic() + 5
    while (found := processes_of(command.folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
