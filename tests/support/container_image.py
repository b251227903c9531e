"""The image of the tests of containers: a folder with Debian, its Python 3.11 and its NumPy 1.24.

``python -m tests.support.container_image`` makes it and prints where it is. It is made once a machine, by
``debootstrap`` as root in about a minute, and kept in the user's cache folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

RELEASE = "bookworm"
PACKAGES = ("python3", "python3-numpy")
SECONDS = 280.0
ENGINES = {"bubblewrap": "bwrap", "charliecloud": "ch-run"}


def image_folder() -> Path:
    """Return where the image is or will be."""
    cache = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    return Path(cache).expanduser() / "benchmarker-test-images" / f"{RELEASE}-numpy"


def missing_engine(engine: str) -> str | None:
    """Return why an engine cannot be tested here, None if it can."""
    found = shutil.which(ENGINES[engine])
    return None if found else f"'{ENGINES[engine]}' is not here, which Debian's package '{engine}' brings"


def missing_image() -> str | None:
    """Return why there is no image and none can be made here, None if there is or can."""
    if image_folder().is_dir():
        return None
    if os.geteuid() != 0:
        return "the image of a container is made as root, once a machine"
    if shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        return "'debootstrap' is not here, which Debian's package of this name brings"
    return None


def make_image() -> Path:
    """Return the image, made first if it is not there; other processes wait meanwhile."""
    target = image_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            made = target.with_suffix(".made")
            shutil.rmtree(made, ignore_errors=True)
            _bootstrap(made)
            made.rename(target)
    return target


def _bootstrap(folder: Path) -> None:
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, str(folder)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"debootstrap failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    shutil.rmtree(folder / "var/cache/apt", ignore_errors=True)
    shutil.rmtree(folder / "var/lib/apt/lists", ignore_errors=True)


if __name__ == "__main__":
    print(make_image())
