"""What an engine of containers is to us."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from benchmarker.api.launcher import Enclosure
from benchmarker.errors import UsageError, printable, shortened
from benchmarker.execution.environments.containers.container import SEARCHED, Mounts

SECONDS = 60.0
"""How long an engine may take to tell something."""


class Engine(ABC):
    """Runs a command in an image, with the machine's network, devices and process numbers.

    Attributes
    ----------
    name : str
        Its own.
    program : str
        Its command.
    """

    name: str
    program: str

    @abstractmethod
    def takes(self, image: str) -> bool:
        """Return whether an image is of the kind that it runs."""

    @abstractmethod
    def digest(self, image: str) -> str:
        """Return ``sha256:`` and the image's digest.

        Raises
        ------
        UsageError
            If the image is not there.
        """

    @abstractmethod
    def enclosure(
        self, image: str, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
    ) -> AbstractContextManager[Enclosure]:
        """Give what runs a command named after it in the image.

        Parameters
        ----------
        image : str
            As it was asked for.
        mounts : Mounts
            What of this machine is seen.
        variables : mapping
            All that are set inside.
        cuda : bool
            Whether GPUs and their driver are there too.
        """

    def variables(self, image: str) -> dict[str, str]:
        """Return the variables that the image sets and the engine would not."""
        return {}

    @property
    def path(self) -> str | None:
        """Where its command is; None if it is not here."""
        return shutil.which(
            self.program, path=os.pathsep.join((os.environ.get("PATH", os.defpath), SEARCHED))
        )

    def version(self) -> str:
        """Return what it says of its version; nothing if it does not."""
        said = self.ask("--version")
        if said.returncode != 0:
            return ""
        return shortened(printable((said.stdout.strip() or said.stderr.strip()).partition("\n")[0]), 100)

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its command.

        Raises
        ------
        UsageError
            If it does not answer.
        """
        try:
            return subprocess.run(
                [str(self.path), *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={"USER": "user", **os.environ},  # without, Charliecloud does nothing
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"--env: '{self.program}' did not answer within {SECONDS:g} s") from None


class StreamingEngine(Engine):
    """One that passes standard streams alone, and has variables and mounts in its command line."""

    @abstractmethod
    def command(
        self, image: str, mounts: Mounts, variables: Sequence[str], *, cuda: bool, name: str
    ) -> list[str]:
        """Return the command without the one that it runs.

        Parameters
        ----------
        image, mounts, cuda
            As for :meth:`enclosure`.
        variables : sequence of str
            Names of those that are taken from the engine's own.
        name : str
            The container's, which is nobody else's.
        """

    def client_variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the engine's own variables from those that are set inside."""
        return {**os.environ, **variables}

    def ending(self, name: str) -> tuple[str, ...]:
        """Return the command that ends all in a container; nothing if its processes are the client's."""
        return ()

    @contextmanager
    def enclosure(
        self, image: str, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
    ) -> Iterator[Enclosure]:
        import secrets

        name = f"benchmarker-{secrets.token_hex(8)}"
        # The image's own search path is the right one, which is not known here.
        container_variables = {one: value for one, value in variables.items() if one != "PATH"}
        command = self.command(image, mounts, tuple(container_variables), cuda=cuda, name=name)
        yield Enclosure(
            tuple(command), False, False, self.client_variables(container_variables), self.ending(name)
        )


def mount(path: str, *, read_only: bool) -> str:
    """Return the value of ``--mount`` for a path that is seen at the same place (CSV, as Go's reader takes it)."""
    line = io.StringIO()
    members = ["type=bind", f"source={path}", f"destination={path}", *(["readonly"] if read_only else [])]
    csv.writer(line, lineterminator="").writerow(members)
    return line.getvalue()


def mount_options(mounts: Mounts) -> list[str]:
    """Return the options ``--mount`` of an engine that has them."""
    written = frozenset(mounts.written)
    return [word for path in mounts.every for word in ("--mount", mount(path, read_only=path not in written))]
