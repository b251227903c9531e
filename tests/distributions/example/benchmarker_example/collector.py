"""How long the machine has been up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def benchmarker_collect(run: Any) -> Iterator[dict[str, Any]]:
    readings: dict[str, Any] = {"problem": run.problem, "before_seconds": uptime()}
    yield readings
    readings["after_seconds"] = uptime()


def uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
