"""An engine whose images are folders."""

from __future__ import annotations

from pathlib import Path

from benchmarker.execution.environments.containers import folder_image
from benchmarker.execution.environments.containers.engine import Engine


class FolderEngine(Engine):
    """Takes the folder of a root file system, and knows its digest and its variables by reading it."""

    def takes(self, image: str) -> bool:
        return Path(image).is_dir()

    def digest(self, image: str) -> str:
        return folder_image.digest(folder_image.require_folder(image))

    def variables(self, image: str) -> dict[str, str]:
        return folder_image.variables(folder_image.require_folder(image))
