"""A framework whose implementation does not exist."""

from __future__ import annotations

from benchmarker.api import FrameworkPlugin


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="hollow",
        distribution="numpy",
        requirements=("numpy",),
        implementation="benchmarker_broken.absent:Absent",
    )
