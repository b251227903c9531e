"""A framework as it is asked for: its name, with a version or without."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.errors import UsageError
from benchmarker.execution.environments.requirements import wanted


def parse_framework(request: str) -> tuple[FrameworkPlugin, str | None]:
    """Return the framework plugin and the version of ``name`` or ``name==version``."""
    name, separator, version = request.partition("==")
    if separator and not version.strip():
        raise UsageError(f"'{request}' names no version; write for example {name}==1.2.3")
    plugin = registry.framework(name.strip())
    if separator:
        wanted(plugin, version.strip(), cuda=False)  # refuses what is no version
    return plugin, version.strip() or None
