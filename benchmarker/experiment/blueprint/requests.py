"""From a blueprint's fields to what an experiment takes, and back to where each value stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarker.api.optimizer import typed
from benchmarker.api.rules import Steps
from benchmarker.api.suite import Request
from benchmarker.experiment.blueprint.fields import FIELDS
from benchmarker.experiment.options import OPTION_OF_KEY
from benchmarker.experiment.suites.selection import requests
from benchmarker.experiment.training_settings import OWNER, is_of_training, settled
from benchmarker.problems.layers.declared import layers_from_json, layers_to_text
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training

ARCHITECTURE = "architecture"
"""The problem that an inline architecture is a parameter of."""

_REQUESTS = {"problem": "problems", "framework": "frameworks", "optimizer": "optimizers"}


def keyword(field: str) -> str:
    """Return which keyword argument of an experiment a field of a blueprint is."""
    if field in OPTION_OF_KEY:
        return OPTION_OF_KEY[field].keyword
    return {**_REQUESTS, "set": "settings"}.get(field, field)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


@dataclass
class Converted:
    """A blueprint's fields as keyword arguments of an experiment.

    Attributes
    ----------
    values : dict
        Keyword arguments of :class:`~benchmarker.experiment.spec.Experiment`.
    places : dict
        For each request by field and position, where it stands in the file.
    """

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[tuple[str, int], Steps] = field(default_factory=dict)

    def located(self, where: Sequence[str | int]) -> Steps:
        """Return where in the file a fault of the experiment belongs."""
        if len(where) > 1 and (where[0], where[1]) in self.places:
            return (*self.places[str(where[0]), int(where[1])], *where[2:])
        return tuple(where)


def convert(fields: Mapping[str, Any]) -> Converted:
    """Return the experiment's part of a blueprint's fields, in each of which nothing is wrong by itself."""
    converted = Converted()
    values = converted.values
    for name, value in fields.items():
        if name in OPTION_OF_KEY:
            option = OPTION_OF_KEY[name]
            values[option.keyword] = option.taken(value)
        elif name in _REQUESTS:
            values[_REQUESTS[name]] = _requests(converted, name, value)
    if "suite" in fields:
        values["problems"] = (*values.get("problems", ()), *_suites(converted, fields))
    if "accept" in fields:
        values["accept"] = {name: float(limit) for name, limit in fields["accept"].items()}
    if "training" in fields:
        values["training"] = made(Training, fields["training"], "training")
    if "set" in fields:
        values["settings"] = _settings(fields["set"])
    if "training" in values:
        values.update(settled(values))
    if "gpus" in values and "devices" not in values:
        values["devices"] = ("cuda",)
    return converted


def _settings(table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name, value in table.items():
        if is_of_training(name):
            found[name] = (value,)
        elif name == OWNER and isinstance(value, Mapping):
            found.update({f"{name}.{own}": (inner,) for own, inner in value.items()})
        elif isinstance(value, Mapping):
            found.update({f"{name}.{own}": _tuple(inner) for own, inner in value.items()})
        else:
            found[name] = _tuple(value)
    return found


def _requests(converted: Converted, name: str, value: Any) -> tuple[Request, ...]:
    """Return the requests of a field and note where each stands."""
    many = isinstance(value, (list, tuple))
    makers = {"problem": _problem, "framework": _framework, "optimizer": _optimizer}
    found: list[Request] = []
    for index, requested in enumerate(value if many else [value]):
        if requested is None:
            continue  # left out by without()
        place: Steps = (name, index) if many else (name,)
        for request in [Request(requested)] if isinstance(requested, str) else makers[name](requested):
            converted.places[name, len(found)] = place
            found.append(request)
    return tuple(found)


def _suites(converted: Converted, fields: Mapping[str, Any]) -> tuple[Request, ...]:
    """Return the requests of the suites and note where their names stand."""
    found = requests(_tuple(fields["suite"]), fields.get("sample"))
    first = len(converted.values.get("problems", ()))
    converted.places.update({("problem", first + index): ("suite",) for index in range(len(found))})
    return found


def _others(table: Mapping[str, Any], *names: str) -> dict[str, tuple[Any, ...]]:
    return {name: _tuple(value) for name, value in table.items() if name not in names}


def _problem(table: Mapping[str, Any]) -> list[Request]:
    if "name" in table:
        return [Request(table["name"], _others(table, "name"))]
    # Through the layers, so that the same ones always give the same text.
    layers = layers_to_text(layers_from_json(table["layers"]))
    return [Request(ARCHITECTURE, {"layers": (layers,), **_others(table, "layers")})]


def _framework(table: Mapping[str, Any]) -> list[Request]:
    options = _others(table, "name", "version")
    if "version" not in table:
        return [Request(table["name"], options)]
    return [Request(f"{table['name']}=={version}", options) for version in _tuple(table["version"])]


def _optimizer(table: Mapping[str, Any]) -> list[Request]:
    constants = {
        name: tuple(typed(name, value) for value in values) for name, values in _others(table, "kind").items()
    }
    return [Request(kind, constants) for kind in _tuple(table.get("kind", ""))]


_DECISIVE = ("name", "version", "kind", "layers", "loss", "softmax")


def without(fields: Mapping[str, Any], wrong: Iterable[Steps]) -> dict[str, Any]:
    """Return fields without what is wrong: single settings of a table, single requests of a list, or all of it."""
    kept = {name: _copied(value) for name, value in fields.items() if name in FIELDS}
    for first, *rest in wrong:
        name = str(first)
        value = kept.get(name)
        if value is None:
            continue
        if isinstance(value, list) and rest and name in _REQUESTS:
            index = int(rest.pop(0))
            inner = value[index]
            if isinstance(inner, dict) and rest and rest[0] not in _DECISIVE:
                inner.pop(rest[0], None)
            else:
                value[index] = None
        elif isinstance(value, dict) and rest and rest[0] not in _DECISIVE and name != "training":
            value.pop(rest[0], None)
        else:
            del kept[name]
    return kept


def _copied(value: Any) -> Any:
    """Return tables and lists anew; a Python file may hold what cannot be copied."""
    if isinstance(value, Mapping):
        return {name: _copied(member) for name, member in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
