"""What is known of a container, and what goes into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from benchmarker.quick_dataclass import dataclass

HOME = "/tmp"  # noqa: S108 - inside, where it is empty and nobody else's
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for in an image that does not say."""


@dataclass(frozen=True)
class Container:
    """An image and the engine that runs it.

    Parameters
    ----------
    engine : str
        Its name.
    engine_version : str
        What it says of its version.
    image : str
        As it was asked for; a folder or a file by its absolute path.
    digest : str
        ``sha256:`` and the image's.
    system : mapping
        Of its ``/etc/os-release``: ``name``, ``id`` and ``version``; None for what is not said.
    system_packages : mapping
        Version of each package of its operating system, as far as they are listed in a file.
    variables : mapping
        Those that the image sets itself.
    """

    engine: str
    engine_version: str
    image: str
    digest: str
    system: Mapping[str, str | None] = field(default_factory=dict)
    system_packages: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mounts:
    """What of this machine a container sees, at the same paths.

    Parameters
    ----------
    read : tuple of str
        Files and folders that it reads.
    written : tuple of str
        Folders that it writes into.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All of them, each once, those that lie in another one after it."""
        return tuple(sorted({*self.read, *self.written}))


def inside_variables(container: Container) -> dict[str, str]:
    """Return the variables that are set in a container whoever is in it."""
    return {"PATH": SEARCHED, "LANG": "C.UTF-8", **container.variables, "HOME": HOME}
