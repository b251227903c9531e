"""Virtual environments of the tests' own, filled by uv, which takes a fraction of pip's time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarker.execution.environments.index_settings import index_settings
from benchmarker.execution.environments.uv import find_uv


def make_venv(folder: Path) -> Path:
    """Make an empty virtual environment and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def install(python: Path | str, *arguments: str) -> None:
    """Install requirements into an environment, with pip's settings of where from."""
    _uv("pip", "install", "-q", "--python", str(python), *index_settings().arguments, *arguments)


def build_wheel(source: Path, folder: Path) -> None:
    """Build a project's wheel into a folder."""
    given = ("--build-constraints" if one == "--constraints" else one for one in index_settings().arguments)
    _uv("build", "-q", "--wheel", "--out-dir", str(folder), *given, str(source))


def _uv(*arguments: str) -> None:
    environment = {**os.environ, **index_settings().environment}
    done = subprocess.run(
        [find_uv(), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
