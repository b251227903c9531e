"""The JSON Schema of a TOML blueprint, made from the same declaration that checks one."""

from __future__ import annotations

from typing import Any

from benchmarker import registry
from benchmarker.api.tables import field_rules, required_fields
from benchmarker.experiment.blueprint.fields import FIELDS, REQUIRED
from benchmarker.experiment.options import OPTION_OF_KEY
from benchmarker.problems.layers.declared import LAYERS, InputLayer, Layer

_PLUGINS = {
    "problem": "problems",
    "framework": "frameworks",
    **{key: option.plugins for key, option in OPTION_OF_KEY.items() if option.plugins},
}


def blueprint_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a TOML blueprint; known plugins are offered as examples."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "benchmarker blueprint",
        "description": "An experiment; every list of alternatives spans the matrix of runs.",
        "type": "object",
        "allOf": [{"anyOf": [{"required": [name]} for name in names]} for names in REQUIRED],
        "properties": {name: _property(name) for name in FIELDS},
        "additionalProperties": False,
        "$defs": {
            "input": _layer(InputLayer),
            "layer": {"oneOf": [_layer(kind) for kind in LAYERS.values() if kind is not InputLayer]},
        },
    }


def _property(name: str) -> dict[str, Any]:
    field = FIELDS[name]
    schema = {"description": field.description, **field.rule.schema()}
    if name in _PLUGINS:
        schema["examples"] = [entry.name for entry in registry.entries() if entry.kind == _PLUGINS[name]]
    return schema


def _layer(kind: type[Layer]) -> dict[str, Any]:
    fields = field_rules(kind)
    return {
        "title": kind.__name__,
        "description": (kind.__doc__ or "").strip().splitlines()[0].replace("``", "`"),
        "type": "object",
        "required": ["layer", *required_fields(kind)],
        "properties": {
            "layer": {"const": kind.__name__},
            **{name: rule.schema() for name, rule in fields.items()},
        },
        "additionalProperties": False,
    }
