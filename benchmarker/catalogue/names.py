"""The names of plugins, once each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarker import registry


def names(kind: str, distribution: str | None = None) -> Iterator[str]:
    """Yield the names of a kind of plugin, once each; of one distribution only, if it is given."""
    chosen = (e for e in registry.entries() if e.kind == kind and distribution in (None, e.distribution))
    yield from dict.fromkeys(entry.name for entry in chosen)
