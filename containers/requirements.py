"""Print what a framework requires, one requirement a line: ``requirements.py FRAMEWORK [cpu|cuda]``."""

from __future__ import annotations

import sys

from benchmarker import registry
from benchmarker.errors import BenchmarkerError


def main(framework: str, device: str = "cpu") -> None:
    """Print the requirements of a framework for a device."""
    if device not in ("cpu", "cuda"):
        sys.exit(f"requirements.py: the device must be cpu or cuda, got '{device}'")
    try:
        plugin = registry.framework(framework)
    except BenchmarkerError as error:
        sys.exit(f"requirements.py: {error}")
    cuda = plugin.cuda_requirements if device == "cuda" else ()
    print(*(cuda or plugin.requirements), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
