"""The version and the names, where every module may read them without importing the package's face."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable

__version__ = "0.5.0"
DISTRIBUTION = "benchmarker-dl"
"""Our name on the package index, where ``benchmarker`` is another project."""
FORMER_DISTRIBUTION = "benchmarker"
"""Our name before version 0.6, in records and in installations of that time."""
OWN_DISTRIBUTIONS = (DISTRIBUTION, FORMER_DISTRIBUTION)
_NAMESAKE = re.compile(r"benchmarker-(\d[^-]*)(?:-.*)?\.(?:dist|egg)-info", re.IGNORECASE)


def warn_of_namesake() -> None:
    """Say where the other project ``benchmarker`` is installed, which old hints may have brought."""
    if hasattr(sys.modules.get("__main__"), "PackageFinder"):
        return  # in a worker, whose command has said it
    beside = __file__.rpartition(os.sep)[0].rpartition(os.sep)[0]
    packages = (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
    found = namesake([beside, *packages])
    if found is None or sys.stderr is None:
        return
    folder, version = found
    with contextlib.suppress(OSError):
        sys.stderr.write(
            f"benchmarker: another project's 'benchmarker' {version} is installed in {folder}, while this one's "
            f"distribution is '{DISTRIBUTION}': remove the other with 'pip uninstall benchmarker'\n"
        )


def namesake(folders: Iterable[str]) -> tuple[str, str] | None:
    """Return where the other project ``benchmarker`` is installed, and its version; None if it is in none of these.

    Ours under its former name has entry points, which the other has not.
    """
    for folder in dict.fromkeys(folders):
        try:
            names = os.listdir(folder)  # noqa: PTH208 - pathlib's import takes longer
        except OSError:
            continue
        for found in filter(None, map(_NAMESAKE.fullmatch, names)):
            if not _is_ours(f"{folder}{os.sep}{found[0]}{os.sep}entry_points.txt"):
                return folder, found[1]
    return None


def _is_ours(entry_points: str) -> bool:
    try:
        with open(entry_points, encoding="utf-8") as file:
            return f"[{FORMER_DISTRIBUTION}.frameworks]" in file.read()
    except (OSError, ValueError):
        return False
