"""Files as the kernel would show them, under a folder of the test."""

from __future__ import annotations

from pathlib import Path


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write small files under ``root`` as the kernel would show them."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
