"""Plugins by name: entry points are only listed until one is chosen; a broken one is reported, never fatal."""

from __future__ import annotations

import configparser
import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from benchmarker import __version__, hookspecs, problem_files
from benchmarker.errors import PluginError, UsageError, did_you_mean, first_line

if TYPE_CHECKING:
    from benchmarker.framework import FrameworkPlugin
    from benchmarker.launchers import Launcher
    from benchmarker.problem import Problem
    from benchmarker.suite import Suite

OWN_DISTRIBUTION = "benchmarker"
_DIGEST = "sha256:"
KINDS = ("frameworks", "problems", "collectors", "launchers", "suites")
_HOOKS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "frameworks": (hookspecs.FrameworkHooks, ("benchmarker_framework",)),
    "problems": (hookspecs.ProblemHooks, ("benchmarker_problem",)),
    "collectors": (
        hookspecs.CollectorHooks,
        ("benchmarker_collect", "benchmarker_watch", "benchmarker_watch_apart"),
    ),
    "launchers": (hookspecs.LauncherHooks, ("benchmarker_launcher",)),
    "suites": (hookspecs.SuiteHooks, ("benchmarker_suites",)),
}
"""The hooks of each kind, and those of which a plugin must define one."""


@dataclass(frozen=True)
class PluginEntry:
    """An entry point, not yet imported."""

    kind: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"{self.distribution} {self.version}"


class _PrefixPluginManager(pluggy.PluginManager):
    """Takes every function named ``benchmarker_*`` for a hook, decorated or not."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if not name.startswith(f"{hookspecs.PROJECT}_"):
            return None
        method = getattr(plugin, name, None)
        if not inspect.isroutine(method):
            return None
        return getattr(method, f"{hookspecs.PROJECT}_impl", None) or pluggy.HookimplOpts(
            wrapper=False,
            hookwrapper=False,
            optionalhook=False,
            tryfirst=False,
            trylast=False,
            specname=None,
        )


def _checkout_entries() -> list[PluginEntry]:
    """Read the built-in plugins from ``setup.cfg`` beside the package, for a checkout not installed."""
    path = Path(__file__).resolve().parent.parent / "setup.cfg"
    parser = configparser.ConfigParser()
    if not parser.read(path) or not parser.has_section("options.entry_points"):
        return []
    found = []
    for group, lines in parser.items("options.entry_points"):
        kind = group.removeprefix(f"{OWN_DISTRIBUTION}.")
        if kind in KINDS:
            for line in filter(None, map(str.strip, lines.splitlines())):
                name, value = (part.strip() for part in line.split("=", 1))
                found.append(PluginEntry(kind, name, value, OWN_DISTRIBUTION, __version__))
    return found


@cache
def entries() -> tuple[PluginEntry, ...]:
    """Return every entry point of our groups, in order of kind and name. Imports no plugin."""
    found = []
    points = metadata.entry_points()
    for kind in KINDS:
        for point in points.select(group=f"{OWN_DISTRIBUTION}.{kind}"):
            found.append(PluginEntry(kind, point.name, point.value, *_name_and_version(point.dist)))
    if not any(_normalised(entry.distribution) == OWN_DISTRIBUTION for entry in found):
        found += _checkout_entries()
    return tuple(sorted(found, key=lambda e: (KINDS.index(e.kind), e.name, e.distribution)))


@cache
def _name_and_version(distribution: metadata.Distribution | None) -> tuple[str, str]:
    # Kept, because a distribution's metadata is read and parsed anew each time one asks.
    return (distribution.name, distribution.version) if distribution else ("unknown", "?")


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _find_file(name: str) -> PluginEntry:
    """Return the entry of a problem that is a file: ``onnx:MODEL`` or a path that ends in ``.py``."""
    from benchmarker import onnx_files

    return onnx_files.entry(name) if name.startswith(problem_files.ONNX) else _python_entry(name)


def _python_entry(name: str) -> PluginEntry:
    file = problem_files.path_of(name)
    if not file.is_file():
        raise UsageError(f"a problem that ends in .py must be a file that is there, got '{name}'")
    value, digest = problem_files.python_value(file), problem_files.python_digest(file)
    return PluginEntry("problems", file.name, value, "Python file", f"{_DIGEST}{digest}")


def find(kind: str, name: str) -> PluginEntry:
    """Return the entry point of that name, or of a problem the entry of the file that it names.

    Raises
    ------
    UsageError
        If there is none; the nearest name is offered.
    PluginError
        If two distributions claim it.
    """
    if kind == "problems" and problem_files.names_file(name):
        return _find_file(name)
    claimed = [entry for entry in entries() if entry.kind == kind and entry.name == name]
    if not claimed:
        known = {entry.name for entry in entries() if entry.kind == kind}
        raise UsageError(f"unknown {kind[:-1]} '{name}'{did_you_mean(name, known)}")
    if len(claimed) > 1:
        origins = " and ".join(entry.origin for entry in claimed)
        raise PluginError(
            f"{kind[:-1]} '{name}' is claimed by {origins}; uninstall one of them or rename its entry point"
        )
    return claimed[0]


@cache
def load(entry: PluginEntry) -> Any:
    """Import a plugin, register it with pluggy under its name and check it against the hook specifications.

    Returns
    -------
    object
        The plugin: its module, or an instance of its class.

    Raises
    ------
    PluginError
        With the plugin's name, its origin and what went wrong.
    """
    try:
        plugin = _imported(entry.value)
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and problem_files.is_problem_file(entry.value):
            raise  # what is wrong with a model is no fault of a plugin
        raise _broken(entry, f"failed to import: {first_line(error)}") from error
    manager = _PrefixPluginManager(hookspecs.PROJECT)
    hooks, required = _HOOKS[entry.kind]
    manager.add_hookspecs(hooks)
    try:
        manager.register(plugin, entry.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        # Its text has several lines, all of which matter.
        fault = " ".join(str(error).split())
        raise _broken(entry, f"does not match the hook specifications: {fault}") from error
    if not any(getattr(manager.hook, name).get_hookimpls() for name in required):
        raise _broken(entry, f"defines no function {' or '.join(map(repr, required))}")
    return plugin


def _imported(value: str) -> Any:
    if problem_files.is_problem_file(value):
        return problem_files.load_problem_file(value)
    module_name, _, attribute = value.partition(":")
    plugin: Any = importlib.import_module(module_name)
    for part in filter(None, attribute.split(".")):
        plugin = getattr(plugin, part)
    return plugin() if inspect.isclass(plugin) else plugin


def _broken(entry: PluginEntry, problem: str) -> PluginError:
    value = problem_files.described_value(entry.value)
    return PluginError(f"{entry.kind[:-1]} '{entry.name}' ({value}, from {entry.origin}) {problem}")


def _described(entry: PluginEntry, hook: str, expected: type[Any]) -> Any:
    """Call a plugin's describing hook and check what it returns."""
    function: Callable[[], Any] = getattr(load(entry), hook)
    try:
        described = function()
    except (Exception, SystemExit) as error:
        raise _broken(entry, f"failed in {hook}(): {first_line(error)}") from error
    if not isinstance(described, expected):
        kind = type(described).__name__
        raise _broken(entry, f"returned {kind} from {hook}(), not {expected.__name__}")
    if getattr(described, "name", entry.name) != entry.name:
        raise _broken(entry, f"calls itself '{described.name}', not '{entry.name}'")
    return described


def framework(name: str) -> FrameworkPlugin:
    """Return the framework plugin of that name."""
    from benchmarker.framework import FrameworkPlugin

    plugin: FrameworkPlugin = _described(find("frameworks", name), "benchmarker_framework", FrameworkPlugin)
    return plugin


def problem(name: str) -> Problem:
    """Return the problem of that name."""
    from benchmarker.problem import Problem

    entry = find("problems", name)
    described: Problem = _described(entry, "benchmarker_problem", Problem)
    try:
        described.configure({})
    except Exception as error:
        raise _broken(entry, f"has no defaults for its parameters: {first_line(error)}") from error
    return described


def installed_problem(name: str) -> Problem:
    """Return the problem of that name in a record, which may come from anywhere: no file is looked for, or run.

    Raises
    ------
    UsageError
        If it is a file's name.
    """
    if problem_files.names_file(name):
        raise UsageError(f"a file is no problem that is installed, got '{name}'")
    return problem(name)


def problem_digest(name: str) -> str | None:
    """Return the digest of a problem that is a file, ``sha256:`` before it; None for one that is installed."""
    return find("problems", name).version if problem_files.names_file(name) else None


def launcher(name: str) -> Launcher:
    """Return the launcher of that name."""
    from benchmarker.launchers import Launcher

    described: Launcher = _described(find("launchers", name), "benchmarker_launcher", Launcher)
    return described


def collectors() -> tuple[dict[str, Any], dict[str, str]]:
    """Return all collectors that load, by name, and why each of the others does not."""
    loaded: dict[str, Any] = {}
    broken: dict[str, str] = {}
    for name in dict.fromkeys(entry.name for entry in entries() if entry.kind == "collectors"):
        try:
            loaded[name] = load(find("collectors", name))
        except PluginError as error:
            broken[name] = str(error)
    return loaded, broken


@cache
def suites() -> dict[str, Suite]:
    """Return every suite by name.

    Raises
    ------
    PluginError
        If a plugin with suites is broken, or two suites have one name.
    """
    found: dict[str, Suite] = {}
    for entry in (entry for entry in entries() if entry.kind == "suites"):
        for suite in suites_of(entry):
            if suite.name in found:
                raise _broken(entry, f"has a suite '{suite.name}', a name that is taken")
            found[suite.name] = suite
    return found


def suites_of(entry: PluginEntry) -> tuple[Suite, ...]:
    """Return the suites of one plugin.

    Raises
    ------
    PluginError
        If it is broken.
    """
    from benchmarker.suite import Suite

    described: tuple[Suite, ...] = _described(entry, "benchmarker_suites", tuple)
    if not all(isinstance(suite, Suite) for suite in described):
        raise _broken(entry, "returned from benchmarker_suites() something that is no Suite")
    return described
