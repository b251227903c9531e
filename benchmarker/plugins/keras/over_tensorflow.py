"""Keras over TensorFlow: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.framework import FrameworkPlugin
from benchmarker.plugins.keras import over


def benchmarker_framework() -> FrameworkPlugin:
    """Return the framework."""
    return over("tensorflow", "tensorflow-cpu==2.21.0", implementation="OverTensorFlow", python=">=3.11")
