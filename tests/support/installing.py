"""Virtual environments of the tests' own, filled by uv, which takes a fraction of pip's time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarker.execution.environments.index_settings import index_settings
from benchmarker.execution.environments.places import find_uv


def make_venv(folder: Path) -> Path:
    """Make an empty virtual environment and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def install(python: Path | str, *arguments: str) -> None:
    """Install requirements into an environment, with pip's settings of where from."""
    _uv("pip", "install", "-q", "--python", str(python), *index_settings().arguments, *arguments)


def kept_venv(name: str, *requirements: str) -> Path:
    """Return the Python of an environment with requirements, made once a machine and kept in the user's cache folder.

    What its modules are compiled to is kept with it, which takes longer than to install them. Other requirements and
    another Python make another one; a folder that is removed is made anew, with what is newest then.
    """
    key = hashlib.sha256("\n".join([sys.version, *sorted(requirements)]).encode()).hexdigest()[:12]
    folder = _cache() / "benchmarker-test-environments" / f"{name}-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            install(make_venv(folder), *requirements)
            whole.touch()
    return folder / "bin" / "python"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache").expanduser()


def build_wheel(source: Path, folder: Path) -> None:
    """Build a project's wheel into a folder."""
    _build(source, folder, "--wheel")


def make_fresh(folder: Path, sources: Iterable[Path], *more: str) -> Path:
    """Build wheels of projects, install them and more into an environment of their own, and return its Python."""
    for source in sources:
        build_wheel(source, folder / "wheels")
    python = make_venv(folder / "venv")
    install(python, *sorted(map(str, (folder / "wheels").glob("*.whl"))), *more)
    return python


def run_module(
    python: Path, folder: Path, *arguments: str, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a module of such an environment in a folder, with a cache of its own there."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["BENCHMARKER_HOME"] = str(folder / "home")
    return subprocess.run(
        [str(python), "-m", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def build_both(source: Path, folder: Path) -> tuple[Path, Path]:
    """Build a project's source distribution, and from that its wheel, into a folder; return both."""
    _build(source, folder)
    (sources,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sources, wheel


def _build(source: Path, folder: Path, *arguments: str) -> None:
    """Build one at a time: each goes through the project's folder ``build``."""
    given = ("--build-constraints" if one == "--constraints" else one for one in index_settings().arguments)
    with Path(__file__).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _uv("build", "-q", *given, *arguments, "--out-dir", str(folder), str(source))


def _uv(*arguments: str) -> None:
    environment = {**os.environ, **index_settings().environment}
    done = subprocess.run(
        [find_uv(), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
