"""NVIDIA's driver for engines that bring none into a container: the libraries of this machine, in a folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarker.cache import home, publish_folder, staged_folder
from benchmarker.errors import UnsupportedError
from benchmarker.execution.environments.containers.container import Mounts

NAMES = ("libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so", "libnvidia-nvvm.so")
"""What programs load of the driver beside the toolkit that an image has."""


def added(mounts: Mounts, variables: Mapping[str, str]) -> tuple[Mounts, dict[str, str]]:
    """Return mounts and variables with the driver's libraries, by a copy in the cache folder.

    A folder of the machine's own libraries cannot be mounted: all others in it would be found too.

    Raises
    ------
    UnsupportedError
        If there are none.
    """
    folder = str(_copies(installed()))
    searched = ":".join(filter(None, (folder, variables.get("LD_LIBRARY_PATH"))))
    return replace(mounts, read=(*mounts.read, folder)), {**variables, "LD_LIBRARY_PATH": searched}


def installed() -> list[Path]:
    """Return the driver's libraries as the dynamic linker finds them."""
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin") or "ldconfig"
    try:
        said = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:
        said = ""
    return sorted(listed(said))


def listed(cache: str) -> set[Path]:
    """Return the 64-bit libraries of the driver among those that ``ldconfig -p`` lists."""
    rows = (
        line.strip().split(" => ") for line in cache.splitlines() if "x86-64" in line or "AArch64" in line
    )
    return {Path(row[1]) for row in rows if len(row) == 2 and row[0].startswith(NAMES)}


def _copies(libraries: list[Path]) -> Path:
    if not libraries:
        raise UnsupportedError(
            "no libraries of NVIDIA's driver are here (libcuda.so.1), which runs on cuda need"
        )
    state = [
        (path.name, str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in libraries
    ]
    target = home() / "driver-libraries" / hashlib.sha256(repr(state).encode()).hexdigest()[:16]
    if not target.is_dir():
        with staged_folder(target) as folder:
            for path in libraries:
                shutil.copy2(path, folder / path.name)
            publish_folder(folder, target)
    return target
