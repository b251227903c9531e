"""Checks of sizes that no tensor's shape would catch."""

from __future__ import annotations

from benchmarker.errors import UsageError


def require_positive(**sizes: int) -> None:
    """Raise unless every size is at least 1.

    Raises
    ------
    UsageError
        Naming the size and its value.
    """
    for name, size in sizes.items():
        if size < 1:
            raise UsageError(f"'{name}' must be at least 1, got {size}")


def quotient(name: str, size: int, parts_name: str, parts: int) -> int:
    """Return ``size / parts``.

    Raises
    ------
    UsageError
        If ``size`` is no multiple of ``parts``.
    """
    require_positive(**{name: size, parts_name: parts})
    if size % parts:
        raise UsageError(f"'{name}' must be a multiple of '{parts_name}', got {size} and {parts}")
    return size // parts
