"""Whether a framework is of the version that the metadata of its package claim: a module can be shadowed or patched."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Event
from benchmarker.execution.distributions import normalised
from benchmarker.execution.environments.requirements import own_distributions
from benchmarker.execution.outcomes import Failure
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class VersionCheck:
    """What the metadata say of a framework's version.

    Parameters
    ----------
    installed : str or None
        The version that they claim; None if the interpreter has no such distribution.
    unchecked : str or None
        Why nothing could be compared.
    contradiction : str or None
        How the framework contradicts them.
    """

    installed: str | None = None
    unchecked: str | None = None
    contradiction: str | None = None


def check_version(plugin: FrameworkPlugin, version: str, packages: Mapping[str, str]) -> VersionCheck:
    """Compare what a framework says with the distributions of its interpreter.

    Parameters
    ----------
    plugin : FrameworkPlugin
        Names the distributions that hold the framework.
    version : str
        As the framework tells it.
    packages : mapping
        Name to version of every distribution that the interpreter has.
    """
    known = {normalised(name): (name, found) for name, found in packages.items()}
    names = own_distributions(plugin)
    claims = [known[normalised(name)] for name in names if normalised(name) in known]
    if not claims:
        return VersionCheck(
            unchecked=f"the version {version} of '{plugin.name}' is not checked: its interpreter has no metadata "
            f"of {' or '.join(names)}"
        )
    for _, found in claims:
        if _same(version, found):
            return VersionCheck(found)
    name, found = claims[0]
    return VersionCheck(
        found,
        contradiction=f"framework '{plugin.name}' says that it is version {version}, but its interpreter has "
        f"{name} {found} installed: another copy is imported, or it was changed after it was installed",
    )


def version_check(plugin: FrameworkPlugin, events: Mapping[str, Event]) -> VersionCheck | None:
    """Return what the events of a worker say about its version; None if they do not tell it."""
    result = events.get("result", {})
    version, packages = (
        result.get("version") or events.get("prepared", {}).get("version"),
        result.get("packages"),
    )
    return None if version is None or packages is None else check_version(plugin, version, packages)


def version_failure(plugin: FrameworkPlugin, events: Mapping[str, Event]) -> Failure | None:
    """Return that a worker's framework contradicts the metadata of its package, or None."""
    checked = version_check(plugin, events)
    if checked is None or checked.contradiction is None:
        return None
    return Failure("failed", "verify", "VersionContradiction", checked.contradiction)


def _same(said: str, claimed: str) -> bool:
    """Whether two versions are the same but for local parts, such as ``+cpu``."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(Version(said).public) == Version(Version(claimed).public)
    except InvalidVersion:
        return said.partition("+")[0] == claimed.partition("+")[0]
