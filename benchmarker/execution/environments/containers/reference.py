"""How a container is named as an environment: ``container:[ENGINE:]IMAGE``."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api.given_values import expanded
from benchmarker.quick_dataclass import dataclass

PREFIX = "container:"
ENGINES = ("bubblewrap", "charliecloud", "apptainer", "podman", "docker")
"""In the order in which they are looked for."""


def is_container(choice: str) -> bool:
    """Return whether an environment is a container's."""
    return choice.startswith(PREFIX)


@dataclass(frozen=True)
class ContainerReference:
    """A container that was asked for.

    Parameters
    ----------
    engine : str or None
        One of :data:`ENGINES`; None for the first that is here and takes such an image.
    image : str
        A folder, a file, or a name.
    """

    engine: str | None
    image: str

    @staticmethod
    def parse(choice: str) -> ContainerReference:
        """Read ``container:[ENGINE:]IMAGE``; an image with an engine's name needs its engine named too."""
        rest = choice.removeprefix(PREFIX)
        engine, colon, image = rest.partition(":")
        return (
            ContainerReference(engine, image)
            if colon and engine in ENGINES
            else ContainerReference(None, rest)
        )

    def __str__(self) -> str:
        return PREFIX + (f"{self.engine}:" if self.engine else "") + self.image

    def absolute(self) -> ContainerReference:
        """Return it with an image's relative path as an absolute one; a name of a store stays as it is."""
        names_path = self.image.startswith((".", "~")) or Path(self.image).exists()
        if not self.image or not names_path or self.engine in ("podman", "docker"):
            return self
        return ContainerReference(self.engine, str(expanded(self.image).absolute()))


def absolute_environment(choice: str) -> str:
    """Return a relative path of an interpreter or an image as an absolute one, so that a command works anywhere."""
    if is_container(choice):
        return str(ContainerReference.parse(choice).absolute())
    return str(Path(choice).absolute()) if "/" in choice else choice
