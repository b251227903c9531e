"""Runs of the command under a launcher: started, waited for until they measure, and their one record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RUN = (
    *(sys.executable, "-m", "benchmarker", "--framework=numpy", "--problem=mnist_mlp", "--batch-size=64"),
    *("--threads=1", "--monitors=none", "--warmup=1", "--results=results"),
)


def start(environment: dict[str, str], folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a run in a folder."""
    return subprocess.Popen(
        [*RUN, *options],
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    """Return the one record of a run that ends."""
    told = process.communicate(timeout=200)[1]
    records = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]
    assert len(records) == 1, told
    return dict(records[0])


def measuring(process: subprocess.Popen[str]) -> None:
    """Wait until a run measures."""
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if line.strip().endswith(": measuring"):
            return
    raise AssertionError("".join(told))
