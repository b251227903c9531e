"""Keras over PyTorch: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.framework import FrameworkPlugin
from benchmarker.plugins.keras import over


def benchmarker_framework() -> FrameworkPlugin:
    """Return the framework."""
    return over("pytorch", "torch==2.13.0", implementation="OverPytorch", python=">=3.11")
