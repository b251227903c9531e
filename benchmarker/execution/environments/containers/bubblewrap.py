"""Bubblewrap: an image is a folder; nothing but Linux's own namespaces is needed (``bwrap``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarker.api.launcher import Enclosure
from benchmarker.execution.environments.containers import driver_libraries
from benchmarker.execution.environments.containers.container import Mounts
from benchmarker.execution.environments.containers.folder_engine import FolderEngine
from benchmarker.execution.environments.containers.folder_image import Step, layout, require_folder

_OPTIONS = {"folder": "--dir", "link": "--symlink", "bind": "--ro-bind"}


class Bubblewrap(FolderEngine):
    """Builds the root of each container anew, from read-only mounts."""

    name = "bubblewrap"
    program = "bwrap"

    @contextmanager
    def enclosure(
        self, image: str, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
    ) -> Iterator[Enclosure]:
        if cuda:
            mounts, variables = driver_libraries.added(mounts, variables)
        steps = layout(require_folder(image), mounts.every)
        # It stays beside the worker, as its parent.
        yield Enclosure((str(self.path), *arguments(steps, mounts), "--"), True, True, dict(variables), ())


def arguments(steps: list[Step], mounts: Mounts) -> list[str]:
    """Return the options that make a container's root, with the machine's devices and processes.

    Parameters
    ----------
    steps : list of Step
        Of the image.
    mounts : Mounts
        What of this machine is seen.
    """
    options = ["--die-with-parent"]
    for step in steps:
        options += [_OPTIONS[step.kind], *([step.source] if step.source else []), step.path]
    # A process table of its own would need a namespace of its own, and collectors would not find the worker.
    options += ["--bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev", "--ro-bind", "/sys", "/sys"]
    options += ["--tmpfs", "/tmp"]  # noqa: S108 - inside
    written = frozenset(mounts.written)
    for path in mounts.every:
        options += ["--bind" if path in written else "--ro-bind", path, path]
    return [*options, "--chdir", "/"]
