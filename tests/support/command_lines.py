"""Command lines made of others."""

from __future__ import annotations

from collections.abc import Sequence


def replaced(words: Sequence[str], *options: str) -> list[str]:
    """Return a command line with options (``--NAME=VALUE``) in place of those of the same names."""
    names = {option.partition("=")[0] for option in options}
    return [*(word for word in words if word.partition("=")[0] not in names), *options]
