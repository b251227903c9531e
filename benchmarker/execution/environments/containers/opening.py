"""From ``container:[ENGINE:]IMAGE`` to an image that is known, and to what a worker is enclosed in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from benchmarker.api.launcher import Enclosure
from benchmarker.errors import UsageError, printable, shortened
from benchmarker.execution.environments.containers.apptainer import Apptainer
from benchmarker.execution.environments.containers.bubblewrap import Bubblewrap
from benchmarker.execution.environments.containers.charliecloud import Charliecloud
from benchmarker.execution.environments.containers.container import Container, Mounts, inside_variables
from benchmarker.execution.environments.containers.engine import Engine
from benchmarker.execution.environments.containers.podman import Docker, Podman
from benchmarker.execution.environments.containers.reference import ENGINES, ContainerReference

ENGINE: Mapping[str, Engine] = {
    engine.name: engine for engine in (Bubblewrap(), Charliecloud(), Apptainer(), Podman(), Docker())
}
_SECONDS = 120.0
_QUERY = """
import glob, json, os, platform, sys
facts = {"python": platform.python_version(), "path": sys.executable, "versions": {}, "system": {}, "packages": {}}
try:
    from importlib import metadata
except ImportError:
    metadata = None
for name in sys.argv[1:] if metadata else ():
    try:
        facts["versions"][name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
def lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []
for line in lines("/etc/os-release") or lines("/usr/lib/os-release"):
    name, _, value = line.partition("=")
    facts["system"][name] = value.strip().strip("'\\"")
name = None
for file in ["/var/lib/dpkg/status", *glob.glob("/var/lib/dpkg/status.d/*")]:
    for line in lines(file):
        if line.startswith("Package: "):
            name = line[9:].strip()
        elif line.startswith("Version: ") and name:
            facts["packages"][name] = line[9:].strip()
for line in lines("/lib/apk/db/installed"):
    if line.startswith("P:"):
        name = line[2:]
    elif line.startswith("V:") and name:
        facts["packages"][name] = line[2:]
print(json.dumps(facts))
"""


def find_engine(reference: ContainerReference) -> Engine:
    """Return the engine of a container: the one that is named, else the first here that takes such an image.

    Raises
    ------
    UsageError
        If there is none.
    """
    if not reference.image:
        raise UsageError(
            "--env: a container is named as container:IMAGE or container:ENGINE:IMAGE, got no image"
        )
    if reference.engine is not None:
        named = ENGINE[reference.engine]
        if named.path is None:
            raise UsageError(f"--env: '{named.program}' was not found on the PATH, which '{reference}' needs")
        return named
    suited = [ENGINE[name] for name in ENGINES if ENGINE[name].takes(reference.image)]
    found = next((engine for engine in suited if engine.path is not None), None)
    if found is not None:
        return found
    programs = " or ".join(engine.program for engine in suited)
    if reference.image.startswith(("/", ".")) and not suited:
        raise UsageError(f"--env: there is no image '{reference.image}'; give a folder, a SIF file or a name")
    raise UsageError(f"--env: '{reference}' needs {programs}, and none is on the PATH")


@cache
def open_image(choice: str, distributions: tuple[str, ...]) -> tuple[Container, dict[str, Any]]:
    """Return what is known of a container, and what its Python says of itself.

    Parameters
    ----------
    choice : str
        ``container:[ENGINE:]IMAGE``.
    distributions : tuple of str
        Those whose versions are wanted.

    Returns
    -------
    Container
        The image and its engine.
    dict
        ``python``: its version, ``path``: where it is, ``versions``: those of the distributions that are there.

    Raises
    ------
    UsageError
        If there is no engine, no image, no Python in it, or it does not start.
    """
    reference = ContainerReference.parse(choice)
    engine = find_engine(reference)
    # First, as it says whether there is an image.
    digest = engine.digest(reference.image)
    own = engine.variables(reference.image)
    container = Container(engine.name, engine.version(), reference.image, digest, variables=own)
    facts = _ask(engine, container, distributions)
    system = facts["system"]
    said = {
        "name": system.get("PRETTY_NAME") or system.get("NAME"),
        "id": system.get("ID"),
        "version": system.get("VERSION_ID"),
    }
    known = Container(
        engine.name, container.engine_version, reference.image, digest, said, facts["packages"], own
    )
    return known, facts


def _ask(engine: Engine, container: Container, distributions: tuple[str, ...]) -> dict[str, Any]:
    """Run the image's Python once."""
    variables = inside_variables(container)
    with engine.enclosure(container.image, Mounts(), variables, cuda=False) as enclosure:
        try:
            done = subprocess.run(
                [*enclosure.command, "python3", "-I", "-c", _QUERY, *distributions],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(enclosure.environment),
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"--env: '{container.image}' did not answer within {_SECONDS:g} s") from None
    said = done.stdout.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if done.returncode == 0:
        try:
            facts: dict[str, Any] = json.loads(said)
            return facts
        except ValueError:
            raise UsageError(
                f"--env: the python3 of '{container.image}' does not answer as Python does"
            ) from None
    complaint = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    last = shortened(printable(complaint), 200) or f"status {done.returncode}"
    if "python3" in last and any(sign in last for sign in ("No such file", "not found")):
        raise UsageError(
            f"--env: there is no python3 in the image '{container.image}'; install Python and the framework in it"
        )
    raise UsageError(f"--env: {container.engine} cannot run the image '{container.image}': {last}")


@contextmanager
def enclosed(
    container: Container, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
) -> Iterator[Enclosure]:
    """Give what encloses a worker.

    Parameters
    ----------
    container : Container
        Which one.
    mounts : Mounts
        What of this machine it sees.
    variables : mapping
        All of the worker's.
    cuda : bool
        Whether it uses GPUs.
    """
    engine = ENGINE[container.engine]
    with engine.enclosure(container.image, mounts, variables, cuda=cuda) as enclosure:
        yield enclosure
