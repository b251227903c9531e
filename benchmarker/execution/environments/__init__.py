"""The interpreter for a framework: the current one, a managed one made by uv, or one that the user names."""

from __future__ import annotations

from benchmarker.cache import home
from benchmarker.execution.environments.interpreter import (
    Availability,
    Interpreter,
    availability,
    locate,
    resolve,
)
from benchmarker.execution.environments.managed import ManagedEnvironment, list_managed, remove_managed

__all__ = [
    "Availability",
    "Interpreter",
    "ManagedEnvironment",
    "availability",
    "home",
    "list_managed",
    "locate",
    "remove_managed",
    "resolve",
]
