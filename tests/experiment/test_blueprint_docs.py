"""What ``docs/blueprints.md`` says of fields, layers and thresholds is what the code declares."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from benchmarker.api.tables import required_fields
from benchmarker.experiment.acceptance import METRICS
from benchmarker.experiment.blueprint.fields import FIELDS, field_faults
from benchmarker.problems.layers.declared import ACTIVATIONS, LAYERS
from tests.conftest import ROOT
from tests.support.toml import tomllib

TEXT = (ROOT / "docs" / "blueprints.md").read_text()
ROWS = {
    cells[0].strip("` "): [cell.strip() for cell in cells[1:]]
    for line in reversed(TEXT.splitlines())  # of two rows the first counts
    if line.startswith("| `")
    for cells in [line.strip("|").split("|")]
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_in_the_table(name: str) -> None:
    assert ROWS[name] == [FIELDS[name].description]


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else "[]" if value == () else str(value)


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_in_the_table(name: str) -> None:
    fields = {field.name: field for field in dataclasses.fields(LAYERS[name])}
    told = re.findall(r"`([^`]+)`", ROWS[name][0])
    wanted = [
        field
        if field in required_fields(LAYERS[name]) or value.default is None
        else f"{field}={shown(value.default)}"
        for field, value in fields.items()
    ]
    assert sorted(told) == sorted(wanted)


def test_activations_and_thresholds() -> None:
    assert all(f"`{name}`" in TEXT for name in ACTIVATIONS)
    for name, metric in METRICS.items():
        assert ROWS[name] == [metric.description, " and ".join(metric.modes)]


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL))
def test_every_example_is_right(block: str) -> None:
    assert field_faults(tomllib.loads(block)) == []


def test_every_blueprint_that_is_named_exists() -> None:
    for name in re.findall(r"blueprints/(\w+\.(?:toml|py))", TEXT):
        assert (ROOT / "blueprints" / name).is_file()
    for path in (ROOT / "blueprints").iterdir():
        assert path.suffix not in (".toml", ".py") or path.name in TEXT or "_small" in path.name
