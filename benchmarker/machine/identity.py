"""The host's and the user's name, and texts without them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.cache import home as cache_home


def host_name() -> str | None:
    import socket

    try:
        return socket.gethostname() or None
    except OSError:
        return None


def user_name() -> str | None:
    """Return the user's name; ``None`` for a user identifier without an account, as in some containers."""
    import getpass

    try:
        return getpass.getuser() or None
    except (KeyError, OSError):
        return None


OWN_FOLDER = "$BENCHMARKER_HOME"
"""Stands in an anonymous text for the folder of managed environments and compilation caches."""
_ACCOUNTS = frozenset(
    {
        "adm",
        "admin",
        "administrator",
        "centos",
        "cloud-user",
        "core",
        "debian",
        "docker",
        "ec2-user",
        "fedora",
        "guest",
        "jovyan",
        "localhost",
        "nobody",
        "opc",
        "root",
        "runner",
        "test",
        "ubuntu",
        "user",
        "vagrant",
        "worker",
    }
)
"""Names that stand for nobody: they are replaced in paths alone, as they are words of other things."""
_USER_FOLDER = re.compile(
    r"(?i)((?:/home|/users|\\users|/var/home|/export/home|%2Fhome%2F)[/\\]*)([^/\\\s:;,'\"()<>|]+)"
)
"""The folder of anybody, here or where a package was built; backslashes may be doubled, as in a repr."""


def without_names(value: Any, file: Path | None = None) -> Any:
    """Return a JSON value whose texts name neither host, user nor anybody's folder, nor the folder of ``file``."""
    # A trace says the same few thousand words again and again.
    return _in_texts(value, functools.cache(lambda text: _without_words(_without_folders(text, file))))


def without_folders(value: Any, file: Path | None = None) -> Any:
    """Return a JSON value whose texts have no folders of users; names by themselves stay, which may be other words."""
    return _in_texts(value, lambda text: _without_folders(text, file))


def _in_texts(value: Any, changed: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return changed(value)
    if isinstance(value, Mapping):
        return {name: _in_texts(member, changed) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        # Lists of samples are long, and numbers alone.
        return (
            value if value and isinstance(value[0], float) else [_in_texts(item, changed) for item in value]
        )
    return value


def _without_folders(text: str, file: Path | None) -> str:
    if file is not None:
        text = text.replace(str(file), file.name)
    for folder, stand_in in ((str(cache_home()), OWN_FOLDER), (_home(), "<home>")):
        if folder and folder in text:
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", stand_in, text)
    return _USER_FOLDER.sub(r"\1<user>", text) if "/" in text or "\\" in text or "%" in text else text


def _home() -> str | None:
    """Return the user's folder; those below ``/home`` say what they are, and only their name is replaced."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return None
    return home if home.count("/") and home != "/" and not _USER_FOLDER.fullmatch(home) else None


def _without_words(text: str) -> str:
    for name, stand_in in _names():
        text = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", stand_in, text)
    return text


def _names() -> list[tuple[str, str]]:
    """Return the names of host and user in all their forms, the longest first, each with what stands for it."""
    host, user = host_name() or "", user_name() or ""
    hosts = {host, host.partition(".")[0], os.environ.get("HOSTNAME", "")}
    users = {user, *(os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"))}
    found = [(name, "<host>") for name in hosts] + [(name, "<user>") for name in users - hosts]
    found += [(name.lower(), by) for name, by in found]
    telling = [(name, by) for name, by in set(found) if len(name) > 1 and name.lower() not in _ACCOUNTS]
    return sorted(telling, key=lambda pair: (-len(pair[0]), pair))
