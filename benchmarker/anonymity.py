"""The host's and the user's name, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def host_name() -> str | None:
    """Return the host's name."""
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


def without_names(value: Any, file: Path | None = None) -> Any:
    """Return a JSON value whose texts, which may hold paths, name neither host nor user, nor the folder of ``file``."""
    if isinstance(value, str):
        return _text_without_names(value if file is None else value.replace(str(file), file.name))
    if isinstance(value, Mapping):
        return {name: without_names(member, file) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_names(item, file) for item in value]
    return value


def _text_without_names(text: str) -> str:
    for name, stand_in in ((host_name(), "<host>"), (user_name(), "<user>")):
        if name:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", stand_in, text)
    return text
