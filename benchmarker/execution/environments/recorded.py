"""An environment made again from the package list of a record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UsageError
from benchmarker.execution.distributions import normalised
from benchmarker.execution.environments.managed import ManagedEnvironment, create
from benchmarker.execution.environments.recipe import Recipe

if TYPE_CHECKING:
    from benchmarker.api.framework import FrameworkPlugin


def recorded_recipe(
    plugin: FrameworkPlugin, environment: Mapping[str, Any], skipped: Collection[str] = ()
) -> Recipe:
    """Return the recipe of the environment that a record describes: its packages, each at its version.

    Parameters
    ----------
    plugin : FrameworkPlugin
        The framework it is for.
    environment : mapping
        The record's ``environment``.
    skipped : collection of str
        Distributions that are no part of it: benchmarker and plugins, which a worker gets from elsewhere.

    Raises
    ------
    UsageError
        If the record does not say which packages, which versions of them or which Python there were.
    """
    packages, python = environment["packages"], environment["python"]
    if not packages or not python:
        lacks = "list of packages" if python else "version of Python"
        raise UsageError(f"the record has no {lacks} to make its environment from; use --env auto")
    without = {normalised(name) for name in skipped}
    versions = {normalised(name): version for name, version in packages.items()}
    wanted = {name: version for name, version in versions.items() if name not in without}
    unknown = [name for name, version in wanted.items() if not version]
    if unknown:
        raise UsageError(f"the record does not say which version of {', '.join(unknown)} ran; use --env auto")
    return Recipe(
        framework=plugin.name,
        requirements=tuple(sorted(f"{name}=={version}" for name, version in wanted.items())),
        build_constraints=tuple(sorted(plugin.build_constraints)),
        python=_python(python, environment["implementation"]),
        build=str(wanted.get("torch") or "").partition("+")[2],
        recorded=True,
    )


def _python(version: str, implementation: str | None) -> str:
    """Return the minor version, as uv finds it; the patch level is what there is of it."""
    minor = ".".join(version.split(".")[:2])
    return minor if (implementation or "cpython").lower() == "cpython" else f"{implementation}@{minor}"


def recorded_environment(
    plugin: FrameworkPlugin,
    environment: Mapping[str, Any],
    skipped: Collection[str],
    progress: Callable[[str], None],
) -> ManagedEnvironment:
    """Return the environment that a record describes, made now if it was not made before.

    Raises
    ------
    UsageError
        If the record says too little.
    EnvironmentCreationError
        If there is no such Python, or packages cannot be had, which are named.
    """
    return create(recorded_recipe(plugin, environment, skipped), progress)
