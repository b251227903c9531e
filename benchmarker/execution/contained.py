"""What a worker in a container has of this machine: our packages, its job's files, and no variable with a path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Enclosure
from benchmarker.errors import UnsupportedError
from benchmarker.execution.environments.containers.container import Container, Mounts, inside_variables
from benchmarker.execution.launchers.spawned import BOOTSTRAP
from benchmarker.execution.launchers.streamed import FAR_END
from benchmarker.execution.recorded_variables import RECORDED
from benchmarker.worker.job import Job


def base_variables(
    container: Container, plugin: FrameworkPlugin, base: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables that a worker in a container starts from, instead of all of ours.

    Of ours only those that a record would name, and that name no place of this machine.
    """
    known = {*RECORDED, *plugin.recorded_variables, *plugin.thread_variables}
    kept = {name: value for name, value in base.items() if name in known and "/" not in value}
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        kept.pop(name, None)
    return {**kept, **inside_variables(container)}


def mounts_of(job: Job, packages: Mapping[str, str], caches: Mapping[str, str]) -> Mounts:
    """Return what a worker in a container sees of this machine.

    Parameters
    ----------
    job : Job
        What it does.
    packages : mapping
        Top-level package to the folder that holds it; nothing else of the folder is seen.
    caches : mapping
        Folders for what is compiled.

    Raises
    ------
    UnsupportedError
        If such a job is not done in containers.
    """
    places = job.places
    if places is None:
        raise UnsupportedError(
            "an environment 'container:...' is for runs and trainings of a single process; use a path or managed"
        )
    for folder in places.written:
        Path(folder).mkdir(parents=True, exist_ok=True)
    parts = [part for name, folder in packages.items() for part in _parts(Path(folder), name)]
    read = [*map(str, parts), str(BOOTSTRAP), str(FAR_END), *places.read]
    return Mounts(tuple(_outermost(read)), tuple(_outermost([*places.written, *caches.values()])))


def _parts(folder: Path, name: str) -> list[Path]:
    """Return the package or the module of a name in a folder."""
    package = folder / name
    return [package] if package.is_dir() else sorted(folder.glob(f"{name}.*"))


def _outermost(paths: list[str]) -> Iterator[str]:
    """Yield the paths that lie in no other one of them."""
    every = set(paths)
    return (path for path in sorted(every) if every.isdisjoint(map(str, Path(path).parents)))


@contextmanager
def enclosure_of(
    container: Container | None,
    job: Job,
    packages: Mapping[str, str],
    variables: Mapping[str, str],
    caches: Mapping[str, str],
) -> Iterator[Enclosure | None]:
    """Give what a worker is enclosed in; None for one that is in no container."""
    if container is None:
        yield None
        return
    # Not sooner: most runs are in none.
    from benchmarker.execution.environments.containers.opening import enclosed

    mounts = mounts_of(job, packages, caches)
    with enclosed(container, mounts, variables, cuda=job.device.type == "cuda") as enclosure:
        yield enclosure
