"""Apptainer, formerly Singularity: an image is a file (SIF) or a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarker.errors import UsageError
from benchmarker.execution.environments.containers import folder_image
from benchmarker.execution.environments.containers.container import HOME, Mounts
from benchmarker.execution.environments.containers.engine import StreamingEngine, mount_options
from benchmarker.files import sha256_of


class Apptainer(StreamingEngine):
    """Its processes are the client's own children."""

    name = "apptainer"
    program = "apptainer"

    def takes(self, image: str) -> bool:
        return Path(image).is_dir() or image.endswith(".sif")

    def digest(self, image: str) -> str:
        path = Path(image)
        if path.is_dir():
            return folder_image.digest(path.resolve())
        if not path.is_file():
            raise UsageError(
                f"--env: there is no image '{image}'; Apptainer takes a SIF file or a folder that is here "
                "('apptainer pull FILE.sif docker://NAME' makes one of a registry's image)"
            )
        return f"sha256:{sha256_of(path)}"

    def client_variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        # By these it sets variables inside whatever --cleanenv removes, with any characters in their values.
        return super().client_variables({f"APPTAINERENV_{name}": value for name, value in variables.items()})

    def command(
        self, image: str, mounts: Mounts, variables: Sequence[str], *, cuda: bool, name: str
    ) -> list[str]:
        # Contained: neither the user's folder nor the machine's /tmp are there.
        options = ["--cleanenv", "--contain", "--no-home", "--pwd", HOME, *(["--nv"] if cuda else [])]
        return [str(self.path or self.program), "exec", *options, *mount_options(mounts), image]
