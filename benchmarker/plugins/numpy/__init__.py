"""The NumPy plugin: the reference that every other framework is compared with."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of the framework without importing it."""
    return FrameworkPlugin(
        name="numpy",
        distribution="numpy",
        requirements=("numpy>=1.23",),
        implementation="benchmarker.plugins.numpy.framework:MeasuredNumpyFramework",
        precisions={"cpu": ("fp32", "fp64")},
        colour=4,
    )
