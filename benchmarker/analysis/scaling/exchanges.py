"""Exchanges by name: those of all schemes, and other algorithms for the same."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.api.scheme import described_label, named
from benchmarker.distributed.exchanges import OTHER_ALGORITHMS, Exchange
from benchmarker.errors import PluginError, UsageError, nearest


def exchange_of(text: str) -> Exchange:
    """Return the exchange of a scheme's name, as ``all-reduce``, ``averaging/16`` or ``sparse/0.01``.

    Raises
    ------
    UsageError
        On an unknown name or an impossible constant.
    """
    if text in OTHER_ALGORITHMS:
        return OTHER_ALGORITHMS[text]
    name, _ = named(text)
    schemes = registry.names("schemes")
    if name not in schemes and not name.endswith(".py"):
        known = (*schemes, *OTHER_ALGORITHMS)
        near = nearest(text, known)
        raise UsageError(f"a scheme must be one of {', '.join(known_exchanges())}, got '{text}'{near}")
    return Exchange.of(registry.scheme(text))


def known_exchanges() -> tuple[str, ...]:
    """Return what :func:`exchange_of` takes, with the constants in capitals."""
    return (*map(_described, registry.names("schemes")), *OTHER_ALGORITHMS)


def _described(name: str) -> str:
    try:
        return described_label(registry.scheme(name))
    except PluginError:
        return name
