"""Entry points of plugins: they are listed, and none is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarker.errors import PluginError, UsageError, did_you_mean
from benchmarker.execution.distributions import checkout_entry_points, installed_points, normalised
from benchmarker.quick_dataclass import dataclass
from benchmarker.version import DISTRIBUTION, FORMER_DISTRIBUTION, OWN_DISTRIBUTIONS, __version__

PREFIX = "benchmarker"  # of the groups of entry points
KINDS = (
    "frameworks",
    "problems",
    "recipes",
    "optimizers",
    "schemes",
    "suites",
    "datasets",
    "collectors",
    "launchers",
    "charts",
    "problem_schemes",
)
DESCRIBED_KINDS = ("charts", "datasets", "recipes", "schemes")
"""Kinds whose plug-ins say in a line what they are."""


@dataclass(frozen=True)
class PluginEntry:
    """An entry point, not yet imported."""

    kind: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"{self.distribution} {self.version}"

    @property
    def is_ours(self) -> bool:
        """Whether it comes with benchmarker itself."""
        return normalised(self.distribution) in OWN_DISTRIBUTIONS


def _checkout_entries() -> list[PluginEntry]:
    """Return the built-in plugins of a checkout that is not installed."""
    found = checkout_entry_points(Path(__file__).resolve().parents[2] / "setup.cfg", PREFIX)
    return [PluginEntry(*entry, DISTRIBUTION, __version__) for entry in found if entry[0] in KINDS]


@cache
def entries() -> tuple[PluginEntry, ...]:
    """Return every entry point of our groups, in order of kind and name. Imports no plugin."""
    kinds = {f"{PREFIX}.{kind}": kind for kind in KINDS}
    found = [PluginEntry(kinds[p.group], p.name, p.value, *origin) for p, origin in installed_points(kinds)]
    if any(entry.distribution == DISTRIBUTION for entry in found):
        # Under the former name there may be an older installation of the same.
        found = [entry for entry in found if entry.distribution != FORMER_DISTRIBUTION]
    # Of a checkout that is not installed, or was before it had a kind of plug-in.
    installed = {entry.kind for entry in found if entry.is_ours}
    if installed != set(KINDS):
        found += [entry for entry in _checkout_entries() if entry.kind not in installed]
    return tuple(sorted(found, key=lambda e: (KINDS.index(e.kind), e.name, e.distribution)))


@cache
def _by_name() -> Mapping[tuple[str, str], Sequence[PluginEntry]]:
    """Return the entry points of each kind and name."""
    found: dict[tuple[str, str], list[PluginEntry]] = {}
    for entry in entries():
        found.setdefault((entry.kind, entry.name), []).append(entry)
    return found


def noun(kind: str) -> str:
    """Return what one plugin of a kind is called."""
    return "data set" if kind == "datasets" else kind[:-1].replace("_", " ")


def names(kind: str, *, ours: bool = False) -> tuple[str, ...]:
    """Return the names of all plugins of a kind, or our own, in order. Imports none of them."""
    chosen = (entry for entry in entries() if entry.kind == kind and (entry.is_ours or not ours))
    return tuple(dict.fromkeys(entry.name for entry in chosen))


def installed(kind: str, name: str) -> PluginEntry:
    """Return the entry point of that name.

    Raises
    ------
    UsageError
        If there is none; the nearest name is offered.
    PluginError
        If two distributions claim it.
    """
    claimed = _by_name().get((kind, name), [])
    if not claimed:
        known = {entry.name for entry in entries() if entry.kind == kind}
        raise UsageError(f"unknown {noun(kind)} '{name}'{did_you_mean(name, known)}")
    if len(claimed) > 1:
        origins = " and ".join(entry.origin for entry in claimed)
        raise PluginError(
            f"{noun(kind)} '{name}' is claimed by {origins}; uninstall one of them or rename its entry point"
        )
    return claimed[0]
