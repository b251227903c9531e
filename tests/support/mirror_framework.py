"""The framework ``mirror``, put before the command, and what it saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import DISTRIBUTIONS, Command, write_distribution

SOURCE = DISTRIBUTIONS / "mirror"
NAMES = {
    "mirror": "mirror_framework",
    "mirror_new": "mirror_framework:NewestPython",
    "mirror_old": "mirror_framework:OldestPython",
}


def with_mirror(command: Command, folder: Path) -> Command:
    """Return the command with the framework, installed into a new folder of modules."""
    points = [f"{name} = {value}" for name, value in NAMES.items()]
    source = (SOURCE / "mirror_framework.py").read_text()
    modules = {"mirror_framework": source}
    return command.with_path(
        write_distribution(folder / "mirror", "benchmarker-mirror", {"frameworks": points}, modules)
    )


def seen(record: dict[str, Any]) -> dict[str, Any]:
    """Return what the framework saw in the worker."""
    assert record["status"] == "ok", record["error"]
    facts = {}
    for name, text in record["framework"]["libraries"].items():
        try:
            facts[name] = json.loads(text)
        except ValueError:
            continue
    return facts
