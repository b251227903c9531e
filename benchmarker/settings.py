"""Who takes which setting, and the matrix of all their values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarker.experiment import Request
from benchmarker.options import option_types

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
