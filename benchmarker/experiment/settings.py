"""Who takes which setting, and the matrix of all their values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Launcher
from benchmarker.api.options import option_types, parse_options
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError

Settings = Mapping[str, tuple[Any, ...]]


def owned(settings: Settings, owner: str, names: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Return the settings that ``owner`` takes, ``owner.name`` going before ``name``."""
    return {
        name: settings.get(f"{owner}.{name}", settings.get(name, ()))
        for name in names
        if f"{owner}.{name}" in settings or name in settings
    }


def choices(request: Request, settings: Settings, owner: str, options: type[Any]) -> list[dict[str, Any]]:
    """Return every combination of values: those of the request, and over them those of the experiment.

    Parameters
    ----------
    request : Request
        The problem or framework as asked for.
    settings : mapping
        The experiment's settings.
    owner : str
        Name of the problem or framework.
    options : type
        Its dataclass of parameters or options.
    """
    merged = {**request.settings, **owned(settings, owner, option_types(options))}
    return [dict(zip(merged, values)) for values in itertools.product(*merged.values())]


def single_values(settings: Settings, command: str) -> Settings:
    """Return settings that have one value each.

    Raises
    ------
    UsageError
        If one has several.
    """
    for name, several in settings.items():
        if len(several) > 1:
            raise UsageError(f"{command} takes one value of '{name}', got {', '.join(several)}")
    return settings


def chosen_options(plugin: FrameworkPlugin, settings: Settings, command: str) -> dict[str, Any]:
    """Return the value of every option of a framework, for a command that takes one value of each.

    Raises
    ------
    UsageError
        On several values, or one that is not of the option's type.
    """
    (chosen,) = choices(Request(plugin.name), single_values(settings, command), plugin.name, plugin.options)
    return dataclasses.asdict(parse_options(plugin.options, chosen, f"framework '{plugin.name}'"))


def launcher_options(launcher: Launcher, settings: Settings, command: str) -> Any:
    """Return a launcher's options; None where none was given.

    Raises
    ------
    UsageError
        On several values of one, or one that is not of the option's type.
    """
    given = single_values(owned(settings, launcher.name, option_types(launcher.options)), command)
    if not given:
        return None
    values = {name: value for name, (value,) in given.items()}
    return parse_options(launcher.options, values, f"launcher '{launcher.name}'")


def changed_options(plugin: FrameworkPlugin, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have another value than by default."""
    defaults = dataclasses.asdict(plugin.options())
    return {name: value for name, value in options.items() if value != defaults.get(name)}
