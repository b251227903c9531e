"""Charliecloud: an image is a folder, without any privilege (``ch-run``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarker.api.launcher import Enclosure
from benchmarker.cache import temporary_folder
from benchmarker.errors import UnsupportedError
from benchmarker.execution.environments.containers import driver_libraries
from benchmarker.execution.environments.containers.container import HOME, Mounts
from benchmarker.execution.environments.containers.folder_engine import FolderEngine
from benchmarker.execution.environments.containers.folder_image import OURS, Step, layout, require_folder


class Charliecloud(FolderEngine):
    """Mounts an image's folders on a root of ours, which has the places that an image lacks.

    ``ch-run`` makes no mount points in a read-only image. It becomes the worker itself.
    """

    name = "charliecloud"
    program = "ch-run"

    @contextmanager
    def enclosure(
        self, image: str, mounts: Mounts, variables: Mapping[str, str], *, cuda: bool
    ) -> Iterator[Enclosure]:
        if cuda:
            mounts, variables = driver_libraries.added(mounts, variables)
        steps = layout(require_folder(image), mounts.every)
        with temporary_folder() as folder:
            make_root(folder, steps, mounts)
            command = (str(self.path), *arguments(folder, steps, mounts), "--")
            # It refuses to start without; and what it binds can be written, so nothing is to be tried.
            own = {"USER": "user", "PYTHONDONTWRITEBYTECODE": "1"}
            yield Enclosure(command, True, False, {**own, **variables}, ())


def _place(folder: Path, path: str) -> Path:
    """Return where a path inside is made: its temporary folder is one by itself, as all else is read-only."""
    return folder / ("" if path == HOME or path.startswith(f"{HOME}/") else "root") / path[1:]


def make_root(folder: Path, steps: list[Step], mounts: Mounts) -> None:
    """Make what an image's parts are mounted on: folders, links, and a mount point for each part.

    Parameters
    ----------
    folder : Path
        An empty one, which gets ``root`` and ``tmp``.
    steps : list of Step
        Of the image.
    mounts : Mounts
        What of this machine is seen.
    """
    _place(folder, HOME).mkdir()
    for path in OURS:
        (folder / "root" / path[1:]).mkdir(parents=True)
    for step in steps:
        place = _place(folder, step.path)
        if step.kind == "link":
            place.symlink_to(step.source)
        else:
            _make_place(place, step.kind == "folder" or Path(step.source).is_dir())
    for path in mounts.every:
        _make_place(_place(folder, path), Path(path).is_dir())


def _make_place(place: Path, is_folder: bool) -> None:
    (place if is_folder else place.parent).mkdir(parents=True, exist_ok=True)
    if not is_folder:
        place.touch()


def arguments(folder: Path, steps: list[Step], mounts: Mounts) -> list[str]:
    """Return the options of ``ch-run`` and its image, of what :func:`make_root` has made.

    Raises
    ------
    UnsupportedError
        If a path has a colon, which it cannot be told.
    """
    binds = [(step.source, step.path) for step in steps if step.kind == "bind"]
    binds.append((str(_place(folder, HOME)), HOME))
    binds += [(path, path) for path in mounts.every]
    for source, path in binds:
        if ":" in source + path:
            raise UnsupportedError(
                f"Charliecloud cannot mount a path with a colon, got '{source}'; use bubblewrap"
            )
    options = [word for source, path in binds for word in ("-b", f"{source}:{path}")]
    return ["--no-passwd", "-c", "/", *options, str(folder / "root")]
