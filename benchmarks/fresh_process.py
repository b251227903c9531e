"""A command in a fresh process of its own, and the one record that it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rows import ROOT

QUIETLY = ("--no-verify", "--monitors=none", "--quiet")


def record_of(command: Sequence[str]) -> dict[str, Any]:
    """Return the record of ``benchmarker`` called with some arguments, neither verified nor monitored."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "benchmarker", *command, *QUIETLY, f"--results={folder}"]
        subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        (path,) = Path(folder).glob("*.json")
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if record["status"] != "ok":
        raise SystemExit(f"a run ended as {record['status']}: {record['error']['message']}")
    return record


def paired_ratio(name: str, number: int, steps: dict[str, Sequence[str]], *, over: str) -> float:
    """Return the median step of one of two commands over the other's; every second pair runs in reverse."""
    order = list(steps) if number % 2 == 0 else list(reversed(steps))
    took = {key: record_of(steps[key])["timing"]["step_seconds"]["median"] for key in order}
    (other,) = set(steps) - {over}
    found = float(took[other] / took[over])
    print(f"{name} {number + 1}: {found:.3f}", file=sys.stderr, flush=True)
    return found
