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
    from benchmarker.suite import Suite

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
    """Group ``benchmarker.collectors``. A collector collects, watches, or watches apart."""

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

    @hookspec
    def benchmarker_idle(self, run: RunSpec) -> None:
        """Read what the machine does while it idles: every collector is quiet, and the worker still waits.

        The worker waits for as long as this takes, so it is for what cannot be known otherwise.
        """

    @hookspec
    def benchmarker_watch(  # type: ignore[empty-body]
        self, run: RunSpec, pid: int
    ) -> AbstractContextManager[Readings]:
        """Return a context entered when the timed part begins and left when it ends.

        It yields readings as ``benchmarker_collect`` does. ``pid`` is the worker's process. Nobody waits
        for it, so it must not disturb: it may slow a step by less than 0.5 % and use less than 10 ms of
        CPU time a second. It is not entered after an earlier hook of the collector has raised.
        """

    @hookspec
    def benchmarker_watch_apart(  # type: ignore[empty-body]
        self, run: RunSpec, pid: int
    ) -> AbstractContextManager[Readings]:
        """Return a context around a pass of its own after the timed part, for what could disturb timing.

        The worker repeats its steps meanwhile, for about a second. Otherwise as ``benchmarker_watch``, of
        which a collector defines one.
        """


class LauncherHooks:
    """Group ``benchmarker.launchers``."""

    @hookspec
    def benchmarker_launcher(self) -> Launcher:  # type: ignore[empty-body]
        """Return what starts the isolated process."""


class SuiteHooks:
    """Group ``benchmarker.suites``."""

    @hookspec
    def benchmarker_suites(self) -> tuple[Suite, ...]:  # type: ignore[empty-body]
        """Return suites, each of which has a name of its own."""
