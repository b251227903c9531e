"""Filling a folder with a Python and a framework's packages, by uv."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.environments.index_settings import IndexSettings, index_settings
from benchmarker.execution.environments.integrity import find_damage
from benchmarker.execution.environments.permission import OPTION, allows_cuda_build
from benchmarker.execution.environments.places import find_uv, python_of
from benchmarker.execution.environments.uv import CommandFailedError, Progress, run

if TYPE_CHECKING:
    from benchmarker.execution.environments.downloads import Downloads
    from benchmarker.execution.environments.recipe import Recipe

_FICLONE = 0x40049409
_DRY = "--dry-run"
_BUILD_CONSTRAINTS = "build-constraints.txt"
# uv looks for settings from here upwards: those of the project that the user stands in are not ours to follow.
_NO_PROJECT = ("--project", Path(sys.executable).anchor or os.sep)


def fill(recipe: Recipe, folder: Path, progress: Progress, *, again: bool = False) -> str:
    """Make a virtual environment in a new folder, install the recipe's requirements; return its Python.

    Returns
    -------
    str
        Version of its Python.

    Raises
    ------
    EnvironmentCreationError
        With uv's reason in one sentence.
    """
    uv = find_uv()
    settings = index_settings()
    try:
        _make_venv(uv, recipe, folder, settings, progress)
    except CommandFailedError as error:
        path = "give an interpreter that holds the framework with --env PATH"
        other = "use --env auto" if recipe.recorded else path
        raise EnvironmentCreationError(
            f"no Python {recipe.python} for '{recipe.framework}' could be found or fetched: {error}; "
            f"install one, or {other}"
        ) from None
    install = _installer(uv, recipe, folder, settings, progress)
    try:
        _install(recipe, install, settings, progress, partial(_downloads, uv, recipe, folder, settings))
    except CommandFailedError as error:
        raise EnvironmentCreationError(_failure(recipe, install, error)) from None
    broken = sorted({damage.distribution for damage in find_damage(folder)})
    if broken and not again:
        return _refill(recipe, folder, progress, broken)
    if broken:
        raise EnvironmentCreationError(
            f"{', '.join(broken)} could not be installed completely: files do not have the sizes that their lists "
            "give; check the disk"
        )
    return _python_version(folder)


def _refill(recipe: Recipe, folder: Path, progress: Progress, broken: Sequence[str]) -> str:
    """Fill the folder once more, without what uv's cache holds of distributions that are damaged there."""
    progress(f"uv's cache is damaged, fetching {', '.join(broken)} again")
    with suppress(CommandFailedError):
        run([find_uv(), "cache", "clean", *broken], doing="cleaning uv's cache", progress=progress)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return fill(recipe, folder, progress, again=True)


def link_mode(folder: Path) -> str:
    """Return how uv puts packages there: never as hard links, by which damage in one environment would be in all.

    A clone shares its blocks and no inode; where the file system has none, files are copied.
    """
    if sys.platform == "darwin":
        return "clone"
    source, target = folder / ".source", folder / ".target"
    try:
        import fcntl

        source.write_bytes(b"x")
        with source.open("rb") as one, target.open("wb") as other:
            fcntl.ioctl(other.fileno(), _FICLONE, one.fileno())
        return "clone"
    except (ImportError, OSError):
        return "copy"
    finally:
        source.unlink(missing_ok=True)
        target.unlink(missing_ok=True)


def _make_venv(uv: str, recipe: Recipe, folder: Path, settings: IndexSettings, progress: Progress) -> None:
    python = sys.executable if recipe.uses_current_python else recipe.python
    # --relocatable: scripts keep working when the folder is moved into place.
    command = [uv, "venv", *_NO_PROJECT, "--relocatable", "--python", python, str(folder)]
    run(command, doing="finding a Python", progress=progress, environment=settings.environment)


_Install = Callable[..., list[str]]


def _packages(uv: str, action: str, recipe: Recipe, folder: Path, settings: IndexSettings) -> list[str]:
    """Return the command that resolves the recipe's requirements for the folder's Python, without them."""
    command = [uv, "pip", action, *_NO_PROJECT, "--python", str(python_of(folder)), *settings.arguments]
    if recipe.recorded:
        command.append("--no-deps")
    if recipe.build_constraints:
        constraints = folder / _BUILD_CONSTRAINTS
        constraints.write_text("\n".join(recipe.build_constraints) + "\n", encoding="utf-8")
        command += ["--build-constraints", str(constraints)]
    return command


def _installer(
    uv: str, recipe: Recipe, folder: Path, settings: IndexSettings, progress: Progress
) -> _Install:
    """Return what installs requirements, the recipe's if none are named, with more options and variables."""
    command = [*_packages(uv, "install", recipe, folder, settings), f"--link-mode={link_mode(folder)}"]

    def install(*more: str, only: Sequence[str] = recipe.requirements, **variables: str) -> list[str]:
        return run(
            [*command, *only, *more],
            doing="installing packages",
            progress=progress,
            environment={**settings.environment, **variables},
            draws=_DRY not in more,
        )

    return install


def _downloads(uv: str, recipe: Recipe, folder: Path, settings: IndexSettings) -> Downloads | None:
    """Return what the recipe's requirements download from the usual index; None if it cannot resolve them."""
    from benchmarker.execution.environments.downloads import downloads

    wanted, lock = folder / "requirements.in", folder / "pylock.toml"
    wanted.write_text("\n".join(recipe.requirements) + "\n", encoding="utf-8")
    command = [*_packages(uv, "compile", recipe, folder, settings), "--quiet", "--format", "pylock.toml"]
    try:
        run(
            [*command, "--output-file", str(lock), str(wanted)],
            doing="finding out what has to be downloaded",
            progress=lambda _: None,
            environment=settings.environment,
        )
        return downloads(lock.read_text(encoding="utf-8"))
    except (CommandFailedError, OSError, ValueError):
        return None
    finally:
        wanted.unlink()
        lock.unlink(missing_ok=True)


def _install(
    recipe: Recipe,
    install: _Install,
    settings: IndexSettings,
    progress: Progress,
    usual: Callable[[], Downloads | None],
) -> None:
    build, chosen_by_user = recipe.build, os.environ.get("UV_TORCH_BACKEND")
    if build and not settings.offline and not chosen_by_user and not _finds_build(install, build):
        shown = build.upper() if build == "cpu" else build
        progress(f"asking PyTorch's own index for its {shown} build")
        try:
            install("--torch-backend", build, UV_HTTP_RETRIES=os.environ.get("UV_HTTP_RETRIES", "1"))
            return
        except CommandFailedError as error:
            found = usual() if build == "cpu" else None
            if found is None or not found.has_cuda:
                progress(
                    f"no {shown} build of PyTorch from there ({error}); installing the usual index's build"
                )
            elif allows_cuda_build():
                progress(f"no CPU build of PyTorch from there ({error})")
                progress(f"installing the usual index's CUDA build: {found} to download")
            else:
                raise _needs_permission(recipe, found, error) from None
    install()


def _needs_permission(
    recipe: Recipe, found: Downloads, error: CommandFailedError
) -> EnvironmentCreationError:
    return EnvironmentCreationError(
        f"the environment for '{recipe.framework}' was not made: PyTorch's own index gave no CPU build ({error}), "
        f"and the usual index has only the CUDA build, {found} to download, which {OPTION} allows "
        "(of 'run', 'train' and 'env create')"
    )


def _failure(recipe: Recipe, install: _Install, error: CommandFailedError) -> str:
    lacking = _lacking(recipe.requirements, install, str(error)) if recipe.recorded else []
    if lacking:
        return (
            f"the recorded environment for '{recipe.framework}' cannot be made again, as these packages are not "
            f"available: {', '.join(lacking)} ({error}); use --env auto"
        )
    return (
        f"the environment for '{recipe.framework}' ({', '.join(recipe.requirements)}) "
        f"could not be installed: {error}"
    )


def _lacking(requirements: Sequence[str], install: _Install, message: str) -> list[str]:
    """Return all requirements that cannot be had; uv's message names the first of them only."""
    lacking: list[str] = []
    while blamed := [text for text in requirements if re.search(rf"{re.escape(text)}(?![\w.+])", message)]:
        lacking += blamed
        requirements = [text for text in requirements if text not in blamed]
        message = _complaint(install, requirements) if requirements else ""
    return lacking


def _complaint(install: _Install, requirements: Sequence[str]) -> str:
    try:
        install(_DRY, only=requirements)
    except CommandFailedError as error:
        return str(error)
    return ""


def _finds_build(install: _Install, build: str) -> bool:
    """Return whether the user's own indexes and link folders give a build: it outranks the plain one."""
    try:
        plan = install(_DRY)
    except CommandFailedError:
        return False
    return any(line.strip().startswith("+ torch==") and line.rstrip().endswith(f"+{build}") for line in plan)


def _python_version(folder: Path) -> str:
    """Return the version that uv wrote down, e.g. ``"3.11.7"``."""
    for line in (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name.strip() in ("version_info", "version"):
            return ".".join(value.strip().split(".")[:3])
    raise EnvironmentCreationError(f"uv made {folder} without saying which Python is in it")


def compile_bytecode(python: Path, progress: Progress) -> None:
    """Compile an environment in its final place, so that its first run imports as quickly as all others.

    Modules that do not compile (templates, Python 2) are left to who imports them.
    """
    libraries = [str(path) for path in python.parent.parent.glob("[Ll]ib/**/site-packages")][:1]
    progress("compiling its modules")
    with suppress(CommandFailedError):
        command = [str(python), "-I", "-m", "compileall", "-qq", "-j", "0", *libraries]
        run(command, doing="compiling its modules", progress=progress)
