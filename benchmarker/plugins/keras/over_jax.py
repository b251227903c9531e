"""Keras over JAX: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.framework import FrameworkPlugin
from benchmarker.plugins.keras import over


def benchmarker_framework() -> FrameworkPlugin:
    """Return the framework."""
    return over("jax", "jax==0.10.2", implementation="OverJax", python=">=3.11")
