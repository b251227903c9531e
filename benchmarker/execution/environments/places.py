"""Where the managed environments live, where their interpreters are, and what was compiled in them."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarker.cache import home


def environments_folder() -> Path:
    """Return the folder that holds one folder for each managed environment."""
    return home() / "environments"


def compile_caches_folder() -> Path:
    """Return the folder that holds what frameworks compiled, one folder for each environment."""
    return home() / "compile-caches"


def python_of(folder: Path) -> Path:
    """Return the path of the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
