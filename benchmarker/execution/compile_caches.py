"""Where a framework finds what earlier processes compiled: kept folders of our own, or empty ones for a process."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.cache import temporary_folder
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.environments.places import compile_caches_folder
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class CompileCache:
    """The folders of a process, by the environment variables that name them.

    Parameters
    ----------
    kind : {"kept", "cold"}
        Whether others before it used them too.
    folders : mapping
        Variable to folder; empty for a framework that keeps nothing.
    """

    kind: str
    folders: Mapping[str, str] = field(default_factory=dict)

    def files(self) -> int:
        """Return how many files there are."""
        return len({path for folder in self.folders.values() for path in _files(folder)})


@dataclass(frozen=True)
class CompileCacheUse:
    """What a process found in its folders, and what it left there.

    Parameters
    ----------
    cache : CompileCache
        The folders.
    files_before, files_after : int
        Number of files before the process started and after it ended.
    """

    cache: CompileCache
    files_before: int
    files_after: int

    def state(self, compilations: Mapping[str, int] | None) -> str | None:
        """Return whether a process that ended well compiled anew or found all that it needed.

        Parameters
        ----------
        compilations : mapping or None
            Number of compilations by stage, empty if there were none; None if the framework does not say.

        Returns
        -------
        str or None
            ``cold`` if files were added, also to those of other programs; ``warm`` if there were files and
            they sufficed; None if nothing was compiled or nothing is kept.
        """
        if compilations is not None and not compilations:
            return None
        if self.files_after > self.files_before:
            return "cold"
        return "warm" if self.files_before else None


@contextmanager
def open_compile_cache(
    kind: str,
    plugin: FrameworkPlugin,
    interpreter: Interpreter,
    environment: Mapping[str, str],
) -> Iterator[CompileCache]:
    """Yield the folders of a process; those of a cold one are removed afterwards.

    Parameters
    ----------
    kind : {"kept", "cold"}
        Kept are the folders that the environment names already, else our own: one for each interpreter.
    plugin : FrameworkPlugin
        The framework.
    interpreter : Interpreter
        What runs it.
    environment : mapping
        The variables of the process so far.

    Raises
    ------
    EnvironmentCreationError
        If a folder cannot be made.
    """
    names = plugin.compile_caches
    if not names:
        yield CompileCache(kind)
    elif kind == "kept":
        own = _made(compile_caches_folder() / _name(plugin.name, interpreter), names)
        yield CompileCache(kind, {name: environment.get(name) or own[name] for name in names})
    else:
        with temporary_folder() as folder:
            yield CompileCache(kind, _made(folder, names))


def _made(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    for name in names:
        try:
            (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentCreationError(
                f"the folder '{folder / name}' for compiled code cannot be made: {error.strerror}"
            ) from error
    return {name: str(folder / name) for name in names}


def _name(framework: str, interpreter: Interpreter) -> str:
    """Return the name of the managed environment, or one that no other interpreter's folder has."""
    if interpreter.key is not None:
        return interpreter.key
    place = interpreter.path if interpreter.container is None else interpreter.container.digest
    return f"{framework}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"


def _files(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(Path(folder).resolve()):
        yield from (os.path.join(parent, name) for name in names)  # noqa: PTH118 - thousands of them
