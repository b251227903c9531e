"""The plugin contract: the hooks that a plugin's module (or class) may define.

A plugin is an entry point whose value is a module, or a class that is called without arguments. Its
functions named ``benchmarker_*`` are its hooks; no decorator is needed, so a plugin that runs inside
the worker need not import pluggy. The entry point's name is the name on the command line.
"""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from benchmarker.api.chart_kind import ChartKind
    from benchmarker.api.collector import Readings, Run
    from benchmarker.api.dataset import DatasetReader
    from benchmarker.api.framework import FrameworkPlugin
    from benchmarker.api.launcher import Launcher
    from benchmarker.api.problem import Problem
    from benchmarker.api.problem_scheme import ProblemScheme
    from benchmarker.api.recipe import RecipeFile
    from benchmarker.api.scheme import Scheme
    from benchmarker.api.suite import Suite
    from benchmarker.api.update_rule import UpdateRule

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
    """Group ``benchmarker.collectors``. A collector collects, watches the timed part, or watches an untimed pass."""

    @hookspec
    def benchmarker_collect(self, run: Run) -> AbstractContextManager[Readings]:  # type: ignore[empty-body]
        """Return a context entered before the worker starts and left after it ended.

        It yields the readings (a dict or list of JSON values), which may still be filled in until the
        context is left. It looks at ``run`` and cannot steer it. Two runs may be made at once: of a collector
        that is an object, not a module, each run has a shallow copy. Raise
        :class:`~benchmarker.api.collector.Unavailable` where there is nothing.
        """

    @hookspec
    def benchmarker_before_timing(self, run: Run) -> None:
        """Return when nothing of the collector's own is running beside the worker any more.

        Called when the worker has built and warmed up, and waits to be let into the timed part.
        """

    @hookspec
    def benchmarker_idle(self, run: Run) -> None:
        """Read what the machine does while it idles: every collector is quiet, and the worker still waits.

        The worker waits for as long as this takes, so it is for what cannot be known otherwise.
        """

    @hookspec
    def benchmarker_watch(  # type: ignore[empty-body]
        self, run: Run, pid: int
    ) -> AbstractContextManager[Readings]:
        """Return a context entered when the timed part begins and left when it ends.

        It yields readings as ``benchmarker_collect`` does. ``pid`` is the worker's process. Nobody waits
        for it, so it must not disturb: it may slow a step by less than 0.5 % and use less than 10 ms of
        CPU time a second. It is not entered after an earlier hook of the collector has raised.
        """

    @hookspec
    def benchmarker_watch_untimed(  # type: ignore[empty-body]
        self, run: Run, pid: int
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


class DatasetHooks:
    """Group ``benchmarker.datasets``."""

    @hookspec
    def benchmarker_dataset(self) -> DatasetReader:  # type: ignore[empty-body]
        """Return what reads the data set."""


class ChartHooks:
    """Group ``benchmarker.charts``."""

    @hookspec
    def benchmarker_chart(self) -> ChartKind:  # type: ignore[empty-body]
        """Return the kind of picture."""


class RecipeHooks:
    """Group ``benchmarker.recipes``."""

    @hookspec
    def benchmarker_recipe(self) -> RecipeFile:  # type: ignore[empty-body]
        """Return the recipe."""


class OptimizerHooks:
    """Group ``benchmarker.optimizers``; an update rule's class is such a plug-in itself."""

    @hookspec
    def benchmarker_optimizer(self) -> UpdateRule:  # type: ignore[empty-body]
        """Return the rule, with its usual constants."""


class SchemeHooks:
    """Group ``benchmarker.schemes``; a scheme's class is such a plug-in itself."""

    @hookspec
    def benchmarker_scheme(self) -> Scheme:  # type: ignore[empty-body]
        """Return the scheme, with its usual constant."""


class ProblemSchemeHooks:
    """Group ``benchmarker.problem_schemes``."""

    @hookspec
    def benchmarker_problem_scheme(self) -> ProblemScheme:  # type: ignore[empty-body]
        """Return what makes problems of names that begin with the entry point's and a colon."""


_HOOKS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "frameworks": (FrameworkHooks, ("benchmarker_framework",)),
    "problems": (ProblemHooks, ("benchmarker_problem",)),
    "collectors": (
        CollectorHooks,
        ("benchmarker_collect", "benchmarker_watch", "benchmarker_watch_untimed"),
    ),
    "launchers": (LauncherHooks, ("benchmarker_launcher",)),
    "suites": (SuiteHooks, ("benchmarker_suites",)),
    "datasets": (DatasetHooks, ("benchmarker_dataset",)),
    "charts": (ChartHooks, ("benchmarker_chart",)),
    "recipes": (RecipeHooks, ("benchmarker_recipe",)),
    "optimizers": (OptimizerHooks, ("benchmarker_optimizer",)),
    "schemes": (SchemeHooks, ("benchmarker_scheme",)),
    "problem_schemes": (ProblemSchemeHooks, ("benchmarker_problem_scheme",)),
}
"""The hooks of each kind, and those of which a plugin must define one."""
_RENAMED = {"benchmarker_watch_apart": "benchmarker_watch_untimed"}
"""Hooks that had another name before 0.5."""


class _PrefixPluginManager(pluggy.PluginManager):
    """Takes every function named ``benchmarker_*`` for a hook, decorated or not."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if not name.startswith(f"{PROJECT}_"):
            return None
        method = getattr(plugin, name, None)
        if not inspect.isroutine(method):
            return None
        return getattr(method, f"{PROJECT}_impl", None) or pluggy.HookimplOpts(
            wrapper=False,
            hookwrapper=False,
            optionalhook=False,
            tryfirst=False,
            trylast=False,
            specname=None,
        )


def fault(plugin: Any, kind: str, name: str) -> str | None:
    """Return what is wrong with the hooks of a plugin, as what follows its name; None if they are in order.

    Parameters
    ----------
    plugin : object
        The plugin's module or instance.
    kind, name : str
        As in the registry.
    """
    for old, new in _RENAMED.items():
        if hasattr(plugin, old):
            return f"defines '{old}', a hook that is named '{new}' since 0.5: rename it"
    manager = _manager(kind)
    try:
        manager.register(plugin, name)
        manager.check_pending()
        required = _HOOKS[kind][1]
        if any(getattr(manager.hook, hook).get_hookimpls() for hook in required):
            return None
        return f"defines no function {' or '.join(map(repr, required))}"
    except pluggy.PluginValidationError as error:
        # Its text has several lines, all of which matter.
        return f"does not match the hook specifications: {' '.join(str(error).split())}"
    finally:
        manager.unregister(name=name)


@cache
def _manager(kind: str) -> pluggy.PluginManager:
    """Return a manager that has the specifications of a kind, and no plugin yet."""
    manager = _PrefixPluginManager(PROJECT)
    manager.add_hookspecs(_HOOKS[kind][0])
    return manager
