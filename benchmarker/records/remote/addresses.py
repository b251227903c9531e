"""What counts as an address of a results folder, and where its copy lies on this machine."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmarker.cache import home
from benchmarker.errors import UsageError
from benchmarker.machine.secrets import SECRET

_LOCAL = ("file", "local")
_WEB = ("http", "https")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "FSSPEC_S3_ENDPOINT_URL", "STORAGE_EMULATOR_HOST")
"""Variables by which one address means folders of different servers."""
_EXAMPLE = "s3://bucket/folder"


def is_address(text: str) -> bool:
    """Tell whether a text is an address rather than a path: it begins with a scheme and ``://``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def local_path(address: str) -> Path | None:
    """Return the path that an address of this machine's own files stands for; None for every other address."""
    scheme, _, rest = address.partition("://")
    if scheme.lower() not in _LOCAL:
        return None
    parts = urlsplit(address) if rest.startswith("/") else None
    return Path(unquote(parts.path) if parts else rest)


def without_password(address: str) -> str:
    """Return an address with a password, or what may be one, made unreadable."""
    scheme, _, rest = address.partition("://")
    start, at, end = rest.rpartition("@")
    # A secret key may hold slashes itself.
    return f"{scheme}://{SECRET}@{end}" if at and ":" in start else address


def checked_address(text: str) -> str:
    """Return an address without a slash at its end.

    Raises
    ------
    UsageError
        If it has a password in it, or is none that names a folder; the password is not repeated.
    """
    scheme, _, rest = text.partition("://")
    shown = without_password(text)
    if shown != text:
        raise UsageError(
            f"an address of results must have no password in it, got '{shown}'; credentials are "
            "found where fsspec looks for them: variables, files, the machine's own role"
        )
    if "?" in rest or "#" in rest:
        shown = re.split(r"[?#]", rest)[0]
        raise UsageError(
            f"an address of results must have nothing after ? or #, where secrets may be, got '{scheme}://{shown}...'"
        )
    if scheme.lower() in _WEB:
        raise UsageError(
            f"an address of results must be of a store that can be listed and written, such as {_EXAMPLE}, got '{text}'"
        )
    parts = rest.rstrip("/").split("/")
    if (
        "::" in text
        or not rest.strip("/")
        or not text.isprintable()
        or ".." in parts
        or {"", "."} & set(parts[1:])
    ):
        raise UsageError(f"an address of results must be like {_EXAMPLE}, got '{text}'")
    if parts[-1].endswith(".json"):
        raise UsageError(
            f"an address of results must be that of a folder, got '{text}'; name the record and its folder as --results"
        )
    return f"{scheme.lower()}://{'/'.join(parts)}"


def copy_folder(address: str) -> Path:
    """Return the folder of this machine that has the copy of an address."""
    servers = [f"{name}={os.environ[name]}" for name in _ENDPOINTS if os.environ.get(name)]
    digest = hashlib.sha256("\n".join([address, *servers]).encode()).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", address).strip("-.")[:60]
    return home() / "remote" / f"{readable}-{digest}"
