"""Plugins are imported, and called as what others wrote: what goes wrong in one is its own fault, in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from benchmarker.api.containment import LOAD_SECONDS, contained
from benchmarker.api.own_place import own_place, place_below
from benchmarker.errors import BenchmarkerError, PluginError, UsageError, first_line
from benchmarker.problems import files
from benchmarker.registry.entry_points import PluginEntry, noun


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
        with calling(entry):
            plugin = files.load_plugin(entry.value)
    except files.UndescribedError as error:
        raise broken(entry, str(error)) from None
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and files.is_problem_file(entry.value):
            raise  # what is wrong with a model is no fault of a plugin
        raise broken(entry, f"failed to import: {_fault_text(entry, error)}") from error
    from benchmarker import hookspecs

    fault = hookspecs.fault(plugin, entry.kind, entry.name)
    if fault is not None:
        raise broken(entry, fault)
    return plugin


def implementation(entry: PluginEntry, value: str) -> Any:
    """Return what a plugin's description names as its ``"module:attribute"``.

    Raises
    ------
    PluginError
        If it cannot be imported.
    """
    try:
        with calling(entry):
            return files.load_object(value)
    except (Exception, SystemExit) as error:
        raise broken(entry, f"names '{value}', which cannot be imported: {first_line(error)}") from error


def calling(entry: PluginEntry, seconds: float | None = LOAD_SECONDS) -> AbstractContextManager[None]:
    """Return what a plug-in's code runs in; our own, and problems that are files, see to themselves."""
    if entry.is_ours or files.is_problem_file(entry.value):
        return nullcontext()
    return contained(f"{noun(entry.kind)} '{entry.name}' from {entry.origin}", seconds)


def guarded(entry: PluginEntry, function: Callable[..., Any], expected: type[Any]) -> Callable[..., Any]:
    """Return a plugin's function as it may be called: what goes wrong in it is the plugin's fault, in a sentence.

    Errors that are meant for the user and those of files pass, and so do all of our own plugins, whose are bugs.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            with calling(entry, None):
                found = function(*arguments, **options)
        except (BenchmarkerError, OSError):
            raise
        except (Exception, SystemExit) as error:
            if entry.is_ours:
                raise
            raise broken(entry, f"failed in {function.__name__}(): {_fault_text(entry, error)}") from error
        if not isinstance(found, expected):
            returned = type(found).__name__
            raise broken(entry, f"returned {returned} from {function.__name__}(), not {expected.__name__}")
        return found

    return call


def _fault_text(entry: PluginEntry, error: BaseException) -> str:
    """Return what went wrong in a plugin, and at which line of its own."""
    if isinstance(error, SyntaxError):
        return first_line(error)  # which says where
    if files.is_problem_file(entry.value):
        return first_line(error) + place_below(error, Path(files.described_value(entry.value)).absolute())
    return first_line(error) + own_place(error, files.module_of(entry.value))


def broken(entry: PluginEntry, problem: str) -> PluginError:
    """Return what is raised when a plugin does not keep its contract; ``problem`` goes on after its name."""
    value = files.described_value(entry.value)
    return PluginError(f"{noun(entry.kind)} '{entry.name}' ({value}, from {entry.origin}) {problem}")


def description(entry: PluginEntry, hook: str, expected: type[Any]) -> Any:
    """Call a plugin's describing hook and check what it returns."""
    function: Callable[[], Any] = getattr(load(entry), hook)
    try:
        with calling(entry):
            described = function()
    except (Exception, SystemExit) as error:
        raise broken(entry, f"failed in {hook}(): {_fault_text(entry, error)}") from error
    if not isinstance(described, expected):
        kind = type(described).__name__
        raise broken(entry, f"returned {kind} from {hook}(), not {expected.__name__}")
    if getattr(described, "name", entry.name) != entry.name:
        raise broken(entry, f"calls itself '{described.name}', not '{entry.name}'")
    return described
