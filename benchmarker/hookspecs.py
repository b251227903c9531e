"""The plugin contract: the hooks that a plugin's module (or class) may define.

A plugin is an entry point whose value is a module, or a class that is called without arguments. Its
functions named ``benchmarker_*`` are its hooks; no decorator is needed, so a plugin that runs inside
the worker need not import pluggy. The entry point's name is the name on the command line.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from benchmarker.collector import Readings
    from benchmarker.experiment import RunSpec
    from benchmarker.framework import FrameworkPlugin
    from benchmarker.launchers import Launcher
    from benchmarker.problem import Problem

PROJECT = "benchmarker"
hookspec = pluggy.HookspecMarker(PROJECT)


class FrameworkHooks:
    """Group ``benchmarker.frameworks``."""

    @hookspec
    def benchmarker_framework(self) -> FrameworkPlugin:  # type: ignore[empty-body]
        """Return what is known of the framework without importing it."""


class ProblemHooks:
    """Group ``benchmarker.problems``."""

    @hookspec
    def benchmarker_problem(self) -> Problem:  # type: ignore[empty-body]
        """Return the problem."""


class CollectorHooks:
    """Group ``benchmarker.collectors``."""

    @hookspec
    def benchmarker_collect(self, run: RunSpec) -> AbstractContextManager[Readings]:  # type: ignore[empty-body]
        """Return a context entered before the worker starts and left after it ended.

        It yields the readings (a dict or list of JSON values), which may still be filled in until the
        context is left. It looks at ``run`` and cannot steer it. Raise
        :class:`~benchmarker.collector.NothingToRead` where there is nothing.
        """

    @hookspec
    def benchmarker_before_timing(self, run: RunSpec) -> None:
        """Return when nothing of the collector's own is running beside the worker any more.

        Called when the worker has built and warmed up, and waits to be let into the timed part.
        """


class LauncherHooks:
    """Group ``benchmarker.launchers``."""

    @hookspec
    def benchmarker_launcher(self) -> Launcher:  # type: ignore[empty-body]
        """Return what starts the isolated process."""
