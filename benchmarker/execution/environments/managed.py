"""The managed environments on disk: whole ones only, made under a lock and moved into place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cache import (
    discard,
    load_json,
    lock,
    publish_folder,
    remove_leftovers,
    size_of,
    staged_folder,
)
from benchmarker.errors import EnvironmentCreationError, UsageError, did_you_mean
from benchmarker.execution.environments.places import (
    DAMAGE_MARK,
    compile_caches_folder,
    environments_folder,
    python_of,
)
from benchmarker.files import publish
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.execution.environments.recipe import Recipe
    from benchmarker.execution.environments.uv import Progress

METADATA = "environment.json"
_WAIT_SECONDS = 2.0


@dataclass(frozen=True)
class ManagedEnvironment:
    """A finished managed environment.

    Parameters
    ----------
    name : str
        Its key, also its folder's name.
    framework : str
        Name of the plugin it was made for.
    requirements : tuple of str
        PEP 508 requirements it was made from.
    python_version : str
        E.g. ``"3.11.7"``.
    made_at : str
        When, in UTC (ISO 8601).
    path : str
        Its folder.
    recorded : bool
        Whether they are the whole package list of a record.
    size_bytes : int
        Size of its files; some may share their space with uv's cache.
    """

    name: str
    framework: str
    requirements: tuple[str, ...]
    python_version: str
    made_at: str
    path: str
    recorded: bool = False
    size_bytes: int = 0

    @property
    def python(self) -> str:
        """Path of its interpreter."""
        return str(python_of(Path(self.path)))


def _read(folder: Path) -> ManagedEnvironment | None:
    """Return the finished environment in a folder; None if its Python has gone since, or it is damaged."""
    if (folder / DAMAGE_MARK).exists():
        return None
    try:
        facts = load_json(folder / METADATA)
        environment = ManagedEnvironment(
            name=folder.name,
            framework=str(facts["framework"]),
            requirements=tuple(map(str, facts["requirements"])),
            python_version=str(facts["python_version"]),
            made_at=str(facts["made_at"]),
            path=str(folder),
            recorded=bool(facts.get("recorded")),
        )
    except (KeyError, TypeError):
        return None
    return environment if os.access(environment.python, os.X_OK) else None


def find_managed(name: str) -> ManagedEnvironment | None:
    """Return the finished environment of that name, if there is one. Runs nothing."""
    return _read(environments_folder() / name)


def managed_at(python: str) -> ManagedEnvironment | None:
    """Return the finished environment whose interpreter that is; None if it is another's. Runs nothing."""
    folder = Path(python).parent.parent
    found = find_managed(folder.name) if folder.parent == environments_folder() else None
    return found if found is not None and found.python == python else None


def list_managed() -> list[ManagedEnvironment]:
    """Return all finished environments with their sizes, by name."""
    with_sizes = []
    for folder in sorted(environments_folder().glob("[!.]*")):
        found = _read(folder)
        if found is not None:
            with_sizes.append(ManagedEnvironment(**{**asdict(found), "size_bytes": size_of(folder)}))
    return with_sizes


def managed_names(names: list[str] | None = None) -> list[str]:
    """Return the names of environments, finished or not.

    Parameters
    ----------
    names : list of str, optional
        Names of environments, or of frameworks for all of theirs; every environment by default.

    Raises
    ------
    UsageError
        If one of the names is neither.
    """
    present = [path.name for path in sorted(environments_folder().glob("[!.]*")) if path.is_dir()]
    return present if names is None else [match for name in names for match in _matches(name, present)]


def create(recipe: Recipe, progress: Progress) -> ManagedEnvironment:
    """Return the environment of a recipe, made now if it is not there.

    Any number of processes may ask at once: one makes it, the others wait and use it. One that is killed
    meanwhile leaves a temporary folder, which the next creation removes.

    Raises
    ------
    EnvironmentCreationError
        If it cannot be made; nothing stays behind.
    """
    found = find_managed(recipe.name)
    if found is not None:
        return found
    with _explained(), _locked(recipe.name, "makes", progress):
        found = find_managed(recipe.name)  # another process may have made it while this one waited
        if found is not None:
            return found
        remove_leftovers(environments_folder())
        return _make(recipe, progress)


def remove_managed(names: list[str] | None = None) -> list[str]:
    """Remove environments, what was compiled in them too, and return the names of those removed.

    Parameters
    ----------
    names : list of str, optional
        Names of environments, or of frameworks for all of theirs; every environment by default.

    Raises
    ------
    UsageError
        If one of the names is neither.
    """
    folder, chosen = environments_folder(), managed_names(names)
    with _explained():
        for name in chosen:
            with _locked(name, "makes or removes", lambda _: None):
                discard(folder / name)
                discard(compile_caches_folder() / name)
        remove_leftovers(folder)
    return chosen


def _matches(name: str, present: list[str]) -> list[str]:
    matching = [other for other in present if name in (other, other.rpartition("-")[0])]
    if not matching:
        hint = did_you_mean(name, present) or "; there are none"
        raise UsageError(f"there is no managed environment '{name}'{hint}")
    return matching


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentCreationError(
            f"cannot write the managed environments in {environments_folder()}: {error.strerror or error}; "
            "make room there, or set BENCHMARKER_HOME to a folder that can be written"
        ) from error


def _locked(name: str, doing: str, progress: Progress) -> AbstractContextManager[None]:
    """Let no other process make or remove the environment of that name meanwhile."""
    return lock(
        environments_folder() / name,
        lambda: progress(f"waiting for another process that {doing} the environment {name}"),
        _WAIT_SECONDS,
    )


def _make(recipe: Recipe, progress: Progress) -> ManagedEnvironment:
    from datetime import datetime, timezone

    from benchmarker.execution.environments.install import compile_bytecode, fill
    from benchmarker.execution.environments.recipe import shown

    final = environments_folder() / recipe.name
    progress(
        f"making the environment {recipe.name} ({shown(recipe.requirements, recipe.recorded)}); once only"
    )
    with staged_folder(final) as folder:
        python_version = fill(recipe, folder, progress)
        facts = {
            "framework": recipe.framework,
            "requirements": recipe.requirements,
            "recorded": recipe.recorded,
            "build_constraints": recipe.build_constraints,
            "python_version": python_version,
            "made_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        publish(folder / METADATA, json.dumps(facts, indent=2).encode())
        discard(final)  # what is there was found unusable, such as one whose Python was uninstalled
        publish_folder(folder, final)
    compile_bytecode(python_of(final), progress)
    made = _read(final)
    if made is None:
        raise EnvironmentCreationError(
            f"the environment {final} lost its Python while it was made; try again"
        )
    return made
