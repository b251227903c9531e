"""An experiment in keyword arguments of Python: the fields of blueprints, and constants of optimizers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.api.given_values import plain, shown
from benchmarker.api.optimizer import hyperparameters, owners
from benchmarker.api.rules import MAX_FLOAT, Real
from benchmarker.api.suite import Request
from benchmarker.errors import UsageError, nearest
from benchmarker.execution.environments.containers.reference import absolute_environment
from benchmarker.experiment.blueprint.fields import FIELDS
from benchmarker.experiment.blueprint.loading import checked

_NOT_OF_A_RUN = ("description", "results")
KEYWORDS: Mapping[str, str] = {
    **{name: field.description for name, field in FIELDS.items() if name not in _NOT_OF_A_RUN},
    **{name: f"Of {', '.join(owners(name))}." for name in hyperparameters()},
}
"""Every keyword, with what it is: named like the options of ``run``, a list of values makes an axis."""


def experiment_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments of an :class:`~benchmarker.experiment.spec.Experiment`.

    Parameters
    ----------
    options : mapping
        Values by the names of :data:`KEYWORDS`; one that is None was not given.

    Raises
    ------
    UsageError
        If there is no such keyword, or a value is not allowed.
    """
    for name in options:
        if name not in KEYWORDS:
            raise UsageError(f"an experiment has no option '{name}'{nearest(name, KEYWORDS)}")
    given = {name: _plain(name, value) for name, value in options.items() if value is not None}
    constants = {name: _values(name, given.pop(name)) for name in hyperparameters() if name in given}
    values = checked(given).values
    for name in ("frameworks", "problems", "optimizers"):
        if name in values:
            # As a name alone it may pick what a blueprint describes.
            values[name] = tuple(one.name if one == Request(one.name) else one for one in values[name])
    if "environments" in values:
        values["environments"] = tuple(map(absolute_environment, values["environments"]))
    if constants:
        values["hyperparameters"] = constants
    return values


def _plain(name: str, value: Any) -> Any:
    try:
        return plain(value)
    except RecursionError:
        raise UsageError(f"{name} contains itself or is nested too deeply") from None


def _values(name: str, value: Any) -> tuple[Any, ...]:
    """Return the values of a constant or modifier of an optimizer; what they may be is checked with all others."""
    values = value if isinstance(value, list) else [value]
    rule = hyperparameters()[name]
    if not isinstance(rule, Real):
        if not values or not all(isinstance(one, str) for one in values):
            raise UsageError(f"{name} must be {rule.allowed}, or a list of them, got {shown(value)}")
        return tuple(values)
    if not values or not all(type(one) in (int, float) for one in values):
        raise UsageError(f"{name} must be a number, or a list of them, got {value!r}")
    for one in values:
        if not abs(one) <= MAX_FLOAT:
            raise UsageError(f"{name} must be a finite number, got {shown(one)}")
    return tuple(map(float, values))
