"""Where the managed environments live, where their interpreters are, what was compiled in them, and what makes them."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from benchmarker.cache import home
from benchmarker.errors import EnvironmentCreationError

DAMAGE_MARK = "damaged"
"""A file of this name says that an environment is to be made anew."""


def environments_folder() -> Path:
    """Return the folder that holds one folder for each managed environment."""
    return home() / "environments"


def compile_caches_folder() -> Path:
    """Return the folder that holds what frameworks compiled, one folder for each environment."""
    return home() / "compile-caches"


def python_of(folder: Path) -> Path:
    """Return the path of the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@cache
def find_uv() -> str:
    """Return the path of the ``uv`` that was installed with us.

    Raises
    ------
    EnvironmentCreationError
        If there is none.
    """
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        raise EnvironmentCreationError(
            f"managed environments are made with 'uv', which {sys.executable} lacks; "
            "run 'python -m pip install uv', or give an interpreter that holds the framework with --env PATH"
        ) from None
