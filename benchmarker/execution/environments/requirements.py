"""Whether an interpreter holds what a framework requires (PEP 508), and which requirements a run has.

``packaging`` is imported where it is used, as its import takes longer than the rest of ``list``: the plainest
requirements (``name``, ``name==1.2``, ``name<2``) are answered without it.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from benchmarker.errors import PluginError, UsageError
from benchmarker.execution.distributions import installed_version, normalised

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    from benchmarker.api.framework import FrameworkPlugin

MPI_REQUIREMENTS = ("mpi4py==4.1.2", "mpich==5.0.2")
"""What makes ranks an MPI world: MPICH, which our launcher starts itself, and its Python face."""


def current_python_version() -> str:
    """Return the running interpreter's version, e.g. ``"3.11.7"``."""
    return ".".join(map(str, sys.version_info[:3]))


@cache
def parse(requirement: str) -> Requirement:
    """Parse a PEP 508 requirement.

    Raises
    ------
    PluginError
        If the text is none.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(requirement)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise PluginError(f"'{requirement}' is not a PEP 508 requirement: {reason}") from None


@cache
def _specifiers(text: str) -> SpecifierSet:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise PluginError(f"'{text}' is not a PEP 440 specifier of Python versions") from None


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CLAUSE = r"(?:==|>=|<=|<|>)[0-9]+(?:\.[0-9]+)*"
_PLAIN = re.compile(rf"({_NAME.pattern})({_CLAUSE}(?:,{_CLAUSE})*)?")
_RELEASE = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:\+[A-Za-z0-9.]+)?")
_COMPARISONS = {"==": operator.eq, ">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a final release without trailing zeros, which make no difference (PEP 440)."""
    return tuple(map(int, re.sub(r"(\.0+)+$", "", version).split(".")))


def holds_plainly(specifiers: str, version: str) -> bool | None:
    """Return whether a final release, or a local build of one, satisfies plain specifiers; None if one is not plain."""
    release = _RELEASE.fullmatch(version)
    if release is None or not re.fullmatch(rf"{_CLAUSE}(?:,{_CLAUSE})*", specifiers):
        return None
    clauses = (re.fullmatch(r"([=<>]+)(.*)", clause) for clause in specifiers.split(","))
    return all(_COMPARISONS[m[1]](_release(release[1]), _release(m[2])) for m in clauses if m)


def _name_of(requirement: str) -> str:
    """Return the name that a requirement without a marker begins with."""
    found = None if ";" in requirement else _NAME.match(requirement)
    return found[0] if found else parse(requirement).name


def python_suits(python: str, version: str) -> bool:
    """Return whether a Python version satisfies a PEP 440 specifier; pre-releases count."""
    plainly = holds_plainly(python, version)
    return _specifiers(python).contains(version, prereleases=True) if plainly is None else plainly


def _applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _required_by_extras(requirement: Requirement) -> list[Requirement]:
    """Return what the extras of an installed distribution add to its own requirements."""
    from importlib import metadata

    parts = [parse(text) for text in metadata.requires(requirement.name) or ()] if requirement.extras else []
    return [
        part
        for part in parts
        if not _applies(part) and any(_applies(part, extra) for extra in requirement.extras)
    ]


def _plain_faults(requirement: str) -> list[str] | None:
    """Return what is wrong with the installed distribution; None if that takes more than plain comparisons."""
    plain = _PLAIN.fullmatch(requirement)
    if plain is None:
        return None
    name, specifiers = plain[1], plain[2] or ""
    version = installed_version(name)
    if version is None:
        return [f"{name}{specifiers} is not installed"]
    held = holds_plainly(specifiers, version) if specifiers else True
    if held is None:
        return None
    return [] if held else [f"{name}{specifiers} is required, {version} is installed"]


def _fault(requirement: Requirement) -> str | None:
    version = installed_version(requirement.name)
    if version is None:
        return f"{requirement.name}{requirement.specifier} is not installed"
    # An installed pre-release or local build, such as 2.13.0+cpu for ==2.13.0, is what the user chose.
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name}{requirement.specifier} is required, {version} is installed"
    return None


def names(requirements: Iterable[str]) -> set[str]:
    """Return the normalised names of the required distributions whose markers hold here."""
    return {normalised(_name_of(text)) for text in requirements if ";" not in text or _applies(parse(text))}


def faults(requirements: Iterable[str]) -> list[str]:
    """Return what keeps the running interpreter from satisfying requirements, one clause each.

    Parameters
    ----------
    requirements : iterable of str
        PEP 508; those whose markers do not hold here are left out.
    """
    found: list[str] = []
    for text in requirements:
        plain = _plain_faults(text)
        if plain is not None:
            found += plain
            continue
        requirement = parse(text)
        if not _applies(requirement):
            continue
        fault = _fault(requirement)
        parts = [] if fault else map(_fault, _required_by_extras(requirement))
        found += filter(None, [fault, *parts])
    return found


def own_distributions(plugin: FrameworkPlugin) -> tuple[str, ...]:
    """Return the distributions that hold the framework itself, the plugin's named one first.

    Where the CUDA build is a distribution of its own, it is the first of ``cuda_requirements``.
    """
    own = [plugin.distribution]
    if plugin.cuda_requirements and normalised(plugin.distribution) not in names(plugin.cuda_requirements):
        own.append(_name_of(plugin.cuda_requirements[0]))
    return (*own, *plugin.other_distributions)


def _exactly(version: str) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(f"=={Version(version)}")
    except InvalidVersion:
        raise UsageError(f"a framework's version must look like 2.13.0 (PEP 440), got '{version}'") from None


def satisfies_version(version: str, installed: str) -> bool:
    """Return whether an installed version is the one asked for; ``2.13.0+cpu`` is a ``2.13.0``."""
    return _exactly(version).contains(installed, prereleases=True)


def with_version(requirements: Iterable[str], distribution: str, version: str) -> tuple[str, ...]:
    """Return requirements with a distribution's specifier replaced by ``==version``.

    Extras, markers and all other requirements stay; a distribution not among them is added.

    Raises
    ------
    UsageError
        If ``version`` is not a PEP 440 version.
    """
    exact = _exactly(version)
    changed, replaced = [], False
    for text in requirements:
        if normalised(parse(text).name) != normalised(distribution):
            changed.append(text)
            continue
        requirement = type(parse(text))(text)  # a copy: parsed ones are shared
        requirement.specifier, requirement.url, replaced = exact, None, True
        changed.append(str(requirement))
    return tuple(changed if replaced else [*changed, f"{distribution}{exact}"])


def of_ranks(plugin: FrameworkPlugin) -> tuple[str, ...]:
    """Return what runs of several ranks require beside the framework."""
    return (*plugin.rank_requirements, *MPI_REQUIREMENTS)


def wanted(plugin: FrameworkPlugin, version: str | None, cuda: bool, ranks: bool = False) -> tuple[str, ...]:
    """Return the requirements of a run: for CUDA or several ranks if asked, at the version asked for."""
    requirements = plugin.requirements
    if cuda and plugin.cuda_requirements:
        requirements = plugin.cuda_requirements
    return _at_version(plugin, requirements, version) + (of_ranks(plugin) if ranks else ())


def sufficient(
    plugin: FrameworkPlugin, version: str | None, cuda: bool, ranks: bool = False
) -> list[tuple[str, ...]]:
    """Return what an interpreter may hold to run the framework: what is wanted, then each alternative to it."""
    others = plugin.cuda_alternatives if cuda else ()
    more = of_ranks(plugin) if ranks else ()
    return [
        wanted(plugin, version, cuda, ranks),
        *(_at_version(plugin, other, version) + more for other in others),
    ]


def _at_version(
    plugin: FrameworkPlugin, requirements: tuple[str, ...], version: str | None
) -> tuple[str, ...]:
    if version is None:
        return requirements
    present = names(requirements)
    own = next((name for name in own_distributions(plugin) if normalised(name) in present), None)
    return with_version(requirements, own or plugin.distribution, version)
