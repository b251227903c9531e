"""The versions of the record's schema."""

from typing import Literal, get_args

Version = Literal["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9"]

VERSIONS: tuple[str, ...] = get_args(Version)
"""From the oldest to the newest."""
NEWEST: Version = "1.9"
"""The version that this release writes."""


def is_since(version: str, since: str) -> bool:
    """Tell whether a version that is known is another one or later."""
    return VERSIONS.index(version) >= VERSIONS.index(since)
