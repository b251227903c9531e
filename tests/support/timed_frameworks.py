"""Frameworks whose times are known, put before the command as a distribution of somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import DISTRIBUTIONS, Command, write_distribution

NAMES = {
    "clockwork": "clockwork_framework:OnTime",
    "queued": "clockwork_framework:AsQueued",
    "hasty": "clockwork_framework:AsHasty",
    "lazy": "clockwork_framework:AsLazy",
}


def with_clockwork(command: Command, folder: Path) -> Command:
    """Return the command with the frameworks, installed into a new folder of modules."""
    source = (DISTRIBUTIONS / "clockwork" / "clockwork_framework.py").read_text()
    points = [f"{name} = {value}" for name, value in NAMES.items()]
    return command.with_path(
        write_distribution(
            folder / "clockwork", "clockwork", {"frameworks": points}, {"clockwork_framework": source}
        )
    )


def taken_ns(record: dict[str, Any]) -> list[int]:
    """Return how long each call of the run's program took by its own clock, the untimed ones included."""
    found: list[int] = json.loads(record["framework"]["libraries"]["taken_ns"])
    return found
