"""Names that nothing else in a graph has."""

from __future__ import annotations

from collections.abc import Container


def free_name(name: str, taken: Container[str]) -> str:
    """Return ``name``, with underscores after it as long as it is taken."""
    while name in taken:
        name += "_"
    return name


def numbered_name(name: str, taken: set[str]) -> str:
    """Return ``name``, with a number after it if it is taken, and take it."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found
