"""What a managed environment is made of, and the name that follows from it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarker.errors import plural
from benchmarker.execution.environments.gpu_driver import nvidia_driver_present
from benchmarker.execution.environments.requirements import (
    current_python_version,
    names,
    python_suits,
    wanted,
)
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.api.framework import FrameworkPlugin


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what a managed environment holds.

    Parameters
    ----------
    framework : str
        Name of the plugin it is for.
    requirements : tuple of str
        PEP 508, sorted.
    build_constraints : tuple of str
        For what builds source distributions, sorted.
    python : str
        ``"3.11"`` if the current interpreter's version suits, else the plugin's specifier.
    build : str
        The preferred build of PyTorch, ``"cpu"`` or another of its local versions; empty for the index's own.
    recorded : bool
        Whether the requirements are all there is, so that nothing is added for what they depend on.
    """

    framework: str
    requirements: tuple[str, ...]
    build_constraints: tuple[str, ...]
    python: str
    build: str
    recorded: bool = False

    @property
    def uses_current_python(self) -> bool:
        """Whether it is made with the running interpreter's Python."""
        return self.python == _minor_version()

    @property
    def name(self) -> str:
        """``<framework>-<hash>``: equal for equal contents on the same platform."""
        import hashlib

        content = [
            self.requirements,
            self.build_constraints,
            self.python,
            self.build,
            sys.platform,
            _machine(),
            *(["recorded"] if self.recorded else []),
        ]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return f"{self.framework}-{digest[:12]}"


def shown(requirements: Sequence[str], recorded: bool) -> str:
    """Return requirements for people; a recorded list is its length."""
    if not recorded:
        return ", ".join(requirements)
    return f"recorded, {plural(len(requirements), 'package')}"


def _machine() -> str:
    """Return the machine's architecture as :func:`platform.machine` does."""
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform

    return platform.machine()


def _minor_version() -> str:
    return ".".join(current_python_version().split(".")[:2])


def _prefers_cpu_build(requirements: tuple[str, ...], cuda: bool) -> bool:
    # Elsewhere than on Linux, PyPI's PyTorch is the CPU build already.
    return (
        sys.platform == "linux"
        and not cuda
        and "torch" in names(requirements)
        and not nvidia_driver_present()
    )


def make_recipe(
    plugin: FrameworkPlugin, *, version: str | None = None, cuda: bool = False, ranks: bool = False
) -> Recipe:
    """Return the recipe of the managed environment for a framework on this machine.

    Raises
    ------
    UsageError
        If ``version`` is not a version.
    """
    requirements = wanted(plugin, version, cuda, ranks)
    suits = python_suits(plugin.python, current_python_version()) and sys.implementation.name == "cpython"
    return Recipe(
        framework=plugin.name,
        requirements=tuple(sorted(requirements)),
        build_constraints=tuple(sorted(plugin.build_constraints)),
        python=_minor_version() if suits else plugin.python,
        build="cpu" if _prefers_cpu_build(requirements, cuda) else "",
    )
