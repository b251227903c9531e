"""What an installation would download, and how large that is, as uv resolves it and indexes tell."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

from benchmarker.errors import plural
from benchmarker.execution.distributions import normalised
from benchmarker.execution.environments.status import size
from benchmarker.quick_dataclass import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PATIENCE_SECONDS = 5.0
_MAX_CPU_BUILD = 500 * 2**20
"""Bytes of a wheel: before 1.13 PyTorch's had its CUDA libraries in itself."""


@dataclass(frozen=True)
class Downloads:
    """The packages of an installation.

    Parameters
    ----------
    sizes : mapping
        Normalised name of each to its size in bytes; None if nobody tells it.
    """

    sizes: Mapping[str, int | None]

    @property
    def has_cuda(self) -> bool:
        """Whether they have libraries of CUDA among them."""
        return (self.sizes.get("torch") or 0) > _MAX_CPU_BUILD or any(
            name.startswith(("nvidia-", "cuda-")) for name in self.sizes
        )

    def __str__(self) -> str:
        known = [value for value in self.sizes.values() if value is not None]
        prefix = "at least " if len(known) < len(self.sizes) else ""
        whole = f"{prefix}{size(sum(known))}" if known else "an unknown size"
        return f"{plural(len(self.sizes), 'package')} of {whole}"


def downloads(lock: str) -> Downloads:
    """Return what a lock file (PEP 751) would download."""
    files = {
        normalised(package["name"]): _file(package) for package in tomllib.loads(lock).get("packages", ())
    }
    with ThreadPoolExecutor(8) as threads:
        return Downloads(dict(zip(files, threads.map(_size, files.values()))))


def _file(package: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Iterable[Any] = (*package.get("wheels", ()), package.get("sdist"), package.get("archive"))
    return next(filter(None, found), {})


def _size(file: Mapping[str, Any]) -> int | None:
    """Return the size of a file: as its index tells it, or else where it lies."""
    if "size" in file:
        return int(file["size"])
    url = str(file.get("url") or Path(file.get("path", "")).absolute().as_uri())
    try:
        if urlsplit(url).scheme == "file":
            return Path(url2pathname(urlsplit(url).path)).stat().st_size
        if urlsplit(url).scheme not in ("http", "https"):
            return None
        with urlopen(Request(url, method="HEAD"), timeout=_PATIENCE_SECONDS) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, ValueError, TypeError):
        return None
