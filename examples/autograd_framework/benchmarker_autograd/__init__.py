"""HIPS autograd as a framework: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api import FrameworkPlugin


def benchmarker_framework() -> FrameworkPlugin:
    """Describe it: what its environment needs, what it can do, and where the rest is."""
    return FrameworkPlugin(
        name="autograd",
        distribution="autograd",
        requirements=("autograd>=1.7", "numpy"),
        implementation="benchmarker_autograd.framework:Autograd",
        modes=("inference", "training"),
        precisions={"cpu": ("fp32", "fp64")},
    )
