"""Where the managed environments live, and where their interpreters are."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home() -> Path:
    """Return the cache folder: ``BENCHMARKER_HOME``, else the platform's cache folder for applications."""
    chosen = os.environ.get("BENCHMARKER_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("benchmarker", appauthor=False)


def environments_folder() -> Path:
    """Return the folder that holds one folder for each managed environment."""
    return home() / "environments"


def compile_caches_folder() -> Path:
    """Return the folder that holds what frameworks compiled, one folder for each environment."""
    return home() / "compile-caches"


def python_of(folder: Path) -> Path:
    """Return the path of the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
