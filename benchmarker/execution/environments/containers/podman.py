"""Podman and Docker: an image is a name in their store."""

from __future__ import annotations

import os
from collections.abc import Sequence

from benchmarker.errors import UsageError, printable, shortened
from benchmarker.execution.environments.containers.container import HOME, Mounts
from benchmarker.execution.environments.containers.engine import StreamingEngine, mount_options

_ABSENT = ("no such image", "image not known", "no such object")


class Docker(StreamingEngine):
    """A client of a service, whose child a container is; it is ended by its name."""

    name = "docker"
    program = "docker"
    gpu_options: tuple[str, ...] = ("--gpus", "all")

    def takes(self, image: str) -> bool:
        return not image.endswith((".sif", ".tar")) and not image.startswith(("/", "."))

    def digest(self, image: str) -> str:
        found = self.ask("image", "inspect", "--format", "{{.Id}}", image)
        identity = found.stdout.strip()
        if found.returncode == 0 and identity:
            return identity if identity.startswith("sha256:") else f"sha256:{identity}"
        said = shortened(printable(found.stderr.strip().rpartition("\n")[2]), 200)
        if not any(sign in said.lower() for sign in _ABSENT):
            said = said or f"status {found.returncode}"
            raise UsageError(f"--env: {self.program} cannot look for the image '{image}': {said}")
        raise UsageError(
            f"--env: {self.program} has no image '{image}'; get it first ('{self.program} pull {image}'), as a run "
            "pulls nothing"
        )

    def ending(self, name: str) -> tuple[str, ...]:
        return (str(self.path or self.program), "rm", "--force", name)

    def user_options(self) -> list[str]:
        """Return what makes files in mounted folders the user's own."""
        return ["--user", f"{os.getuid()}:{os.getgid()}"]

    def command(
        self, image: str, mounts: Mounts, variables: Sequence[str], *, cuda: bool, name: str
    ) -> list[str]:
        return [
            *(
                str(self.path or self.program),
                "run",
                "--rm",
                "--interactive",
                "--pull=never",
                f"--name={name}",
            ),
            # The machine's own, so that a run inside is what it is outside, and collectors find the worker.
            *("--network=host", "--ipc=host", "--pid=host", "--uts=host"),
            *("--read-only", f"--tmpfs={HOME}:rw,exec,mode=1777", f"--workdir={HOME}", "--entrypoint="),
            *self.user_options(),
            *(self.gpu_options if cuda else ()),
            *(word for variable in variables for word in ("--env", variable)),
            *mount_options(mounts),
            image,
        ]


class Podman(Docker):
    """The same without a service; GPUs by the Container Device Interface."""

    name = "podman"
    program = "podman"
    gpu_options = ("--device", "nvidia.com/gpu=all")

    def user_options(self) -> list[str]:
        return ["--userns=keep-id"] if os.getuid() else []
