"""Reading the small text files under ``/proc`` and ``/sys``; what is absent or unreadable is ``None``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path("/")


def read_text(path: Path) -> str | None:
    """Return the file's text without surrounding white space; ``None`` if absent, unreadable or empty."""
    try:
        # Some files in /sys exist and answer a read with an error.
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except (OSError, ValueError):
        return None


def read_integer(path: Path) -> int | None:
    """Return the file's text as an integer."""
    return integer(read_text(path))


def integer(text: str | None) -> int | None:
    """Return the integer that ``text`` spells, or ``None`` if it spells none."""
    try:
        return int(text) if text else None
    except ValueError:
        return None


def number(text: str | None) -> float | None:
    """Return the number that ``text`` spells, or ``None`` if it spells none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def read_index_list(path: Path) -> list[int] | None:
    """Return the numbers of a list of ranges such as ``0-3,8``."""
    text = read_text(path)
    if text is None or not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        return None
    indices: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        indices += range(int(first), int(last or first) + 1)
    return indices


def read_choice(path: Path) -> str | None:
    """Return the chosen word of a file such as ``always [madvise] never``."""
    text = read_text(path)
    match = re.search(r"\[([^\]]+)\]", text) if text else None
    return match.group(1) if match else text


def read_pairs(path: Path, separator: str = ":", *, first_block: bool = False) -> dict[str, str]:
    """Return the lines ``key<separator>value`` of a file, only up to its first empty line if so wished."""
    pairs: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if first_block and not line.strip():
                    break
                key, found, value = line.partition(separator)
                if found:
                    pairs.setdefault(key.strip(), value.strip())
    except (OSError, ValueError):
        return pairs
    return pairs
