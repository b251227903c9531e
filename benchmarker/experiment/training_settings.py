"""Settings ``training.PLACE`` of commands, Python calls and blueprints: what of a recipe's table is another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.experiment.options import OPTION_OF_KEY
from benchmarker.training.fields import made, to_json
from benchmarker.training.recipe import MAY_CHANGE, Training

OWNER = "training"
_PREFIX = f"{OWNER}."
_SETTABLE = tuple(name for name in MAY_CHANGE if name not in (*OPTION_OF_KEY, "optimizer", "problem"))
"""What of the table an open recipe may leave to who trains by it: the rest of :data:`MAY_CHANGE` has options."""


def is_of_training(setting: str) -> bool:
    """Tell whether a setting is of the recipe's table, not of a problem, a framework or a launcher."""
    return setting.startswith(_PREFIX)


def settled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments of an experiment whose settings of the recipe's table are in that table.

    Parameters
    ----------
    values : mapping
        With ``training`` and ``settings``, if there are such.

    Raises
    ------
    UsageError
        If nothing is trained by a recipe, or as :func:`with_settings` says.
    """
    settings = values.get("settings", {})
    own = {name[len(_PREFIX) :]: value for name, value in settings.items() if is_of_training(name)}
    if not own:
        return dict(values)
    if values.get("training") is None:
        raise UsageError(f"'{_PREFIX}{next(iter(own))}' is of a recipe, and none is named")
    left = {name: value for name, value in settings.items() if not is_of_training(name)}
    return {**values, "training": with_settings(values["training"], own), "settings": left}


def with_settings(training: Training, settings: Mapping[str, tuple[Any, ...]]) -> Training:
    """Return the training with other schedules, limits or augmentation.

    Parameters
    ----------
    training : Training
        Of the recipe.
    settings : mapping of str to tuple
        One value each, or JSON, by their places in the table: ``limits.epochs``; null takes a field away.

    Raises
    ------
    UsageError
        If there is no such place, or the table that comes of it makes no sense.
    """
    table = to_json(training)
    for place, values in settings.items():
        *outer, last = place.split(".")
        if (outer or [last])[0] not in _SETTABLE:
            raise UsageError(f"only {', '.join(_SETTABLE)} of a recipe can be set, got 'training.{place}'")
        if len(values) > 1:
            raise UsageError(f"'training.{place}' takes one value, got {len(values)}")
        _put(table, outer, last, _value(values[0]))
    return made(Training, table, "the recipe")


def _put(table: dict[str, Any], outer: Sequence[str], last: str, value: Any) -> None:
    for name in outer:
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            raise UsageError(
                f"'training.{'.'.join(outer)}' is no table, so it has no '{last}'; set it as a whole"
            )
        table = inner
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value


def _value(given: Any) -> Any:
    """Return what a value is as JSON; a text that is none stands for itself."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given


def settings_of(training: Mapping[str, Any]) -> dict[str, str]:
    """Return what of an open recipe's table a command spells out, by its place, as :func:`with_settings` reads it."""
    names = [name for name in _SETTABLE if name in training["may_change"] and name in training]
    return {name: json.dumps(training[name], separators=(",", ":")) for name in names}
