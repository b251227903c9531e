"""Options of the command over the fields of a blueprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.api.options import option_types
from benchmarker.api.suite import Request
from benchmarker.errors import BenchmarkerError
from benchmarker.experiment.blueprint.requests import keyword
from benchmarker.experiment.fault import Fault
from benchmarker.experiment.framework_version import parse_framework
from benchmarker.experiment.spec import MODES_OF_LEVEL, Requested

_MERGED = ("accept", "hyperparameters")
_LENGTHS = ("seconds", "min_samples")
_AMOUNTS: Mapping[str, tuple[str, ...]] = {
    "steps": ("samples_per_epoch", "epochs", "windows", *_LENGTHS),
    "samples_per_epoch": ("steps", "windows", *_LENGTHS),
    "epochs": ("steps", "windows", *_LENGTHS),
    "seconds": ("steps", "samples_per_epoch", "epochs", "windows"),
    "min_samples": ("steps", "samples_per_epoch", "epochs", "windows"),
}
"""What an amount that is given takes the place of."""


def overridden(fields: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments of an experiment: those of a blueprint, and over them those of the command.

    A problem, framework or optimizer that the command names and the blueprint describes keeps its
    description. An amount (steps, epochs, window, seconds) takes the place of the blueprint's.

    Parameters
    ----------
    fields : mapping
        Of the blueprint.
    given : mapping
        Of the command; only what was given.
    """
    level = given.get("level", fields.get("level"))
    modes = given.get("modes", fields.get("modes", MODES_OF_LEVEL.get(level, ())))
    values = {name: value for name, value in fields.items() if not _replaced(name, given, modes)}
    values.update({name: value for name, value in given.items() if name != "settings"})
    for name in ("problems", "frameworks", "optimizers"):
        if name in given and name in fields:
            values[name] = _described(given[name], fields[name])
    for name in _MERGED:
        if name in given:
            values[name] = {**fields.get(name, {}), **given[name]}
    if "devices" in given and "gpus" not in given and "cuda" not in given["devices"]:
        values.pop("gpus", None)
    values["settings"] = {**_kept(fields.get("settings", {}), values, given), **given.get("settings", {})}
    return values


def _replaced(name: str, given: Mapping[str, Any], modes: Sequence[str]) -> bool:
    if name == "optimizers" and "modes" in given and "training" not in modes:
        return True
    if name in ("steps", *_LENGTHS) and "windows" in given:
        return "training" not in modes
    return any(name in others and amount in given for amount, others in _AMOUNTS.items())


def _described(requested: Sequence[Requested], described: Sequence[Requested]) -> tuple[Requested, ...]:
    found: list[Requested] = []
    for name in requested:
        same = [r for r in map(Request.of, described) if name in (r.name, r.name.partition("==")[0])]
        found += same or [name]
    return tuple(found)


def _kept(
    settings: Mapping[str, tuple[Any, ...]], values: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """Return a blueprint's settings without those the command sets, and without those of what it left out."""
    new = given.get("settings", {})
    kept = {
        name: value
        for name, value in settings.items()
        if name not in new and name.rpartition(".")[2] not in new
    }
    if not {"problems", "frameworks"} & set(given):
        return kept
    names = _known(values)
    return {name: value for name, value in kept.items() if names is None or name in names}


def _known(values: Mapping[str, Any]) -> set[str] | None:
    """Return every name that a setting may have; None if that is not known because a plugin is not."""
    found: set[str] = set()
    try:
        for request in map(Request.of, values.get("problems", ())):
            problem = registry.problem(request.name)
            own = option_types(problem.parameters)
            found |= {*own, *(f"{problem.name}.{name}" for name in own)}
        for request in map(Request.of, values.get("frameworks", ())):
            plugin = parse_framework(request.name)[0]
            own = option_types(plugin.options)
            found |= {*own, *(f"{plugin.name}.{name}" for name in own)}
    except BenchmarkerError:
        return None
    return found


def is_given(fault: Fault, given: Mapping[str, Any]) -> bool:
    """Tell whether a fault is about something that the command says, not the blueprint."""
    field, *rest = fault.where
    if field == "optimizer" and rest and isinstance(rest[0], str):
        return True  # a constant over all optimizers, which only the command can give
    name = keyword(str(field))
    if field in ("set", "accept"):
        return bool(rest) and rest[0] in given.get(name, {})
    return name in given
