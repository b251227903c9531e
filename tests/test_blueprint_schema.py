"""The JSON Schema for editors says what the check says, because both come from one declaration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarker.blueprint.document import tomllib
from benchmarker.blueprint.fields import FIELDS, field_faults
from benchmarker.blueprint.json_schema import blueprint_schema
from benchmarker.layers.declared import LAYERS
from tests.conftest import ROOT, Command

SCHEMA = blueprint_schema()
GOOD = [
    "",
    'mode = ["training", "inference"]',
    "batch_size = 4",
    "batch_size = [4, 8]",
    'optimizer = "adam"',
    'optimizer = {kind = ["sgd", "adam"], learning_rate = [0.1, 1], beta1 = 0}',
    "[[optimizer]]\nmomentum = 0.5",
    "gpus = [0]",
    "affinity = [[0], [0, 1]]",
    "set = {a = 1, b = [true, false], c = {d = 'x', e = [1.5]}}",
    "monitors = []",
    "accept = {min_throughput = 1, max_loss = 0.5}",
    "timeout = 0.5",
    "window = [1, 2.5]",
    'description = "x"',
    "early_stop = true\nverify = false",
]
BAD = [
    "frameworks = 'x'",
    "mode = 'train'",
    "mode = []",
    "mode = ['training', 'training']",
    "batch_size = 0",
    "batch_size = [4, 0]",
    "batch_size = '4'",
    "batch_size = true",
    "batch_size = 1.5",
    "optimizer = 'lion'",
    "optimizer = {kind = 'lion'}",
    "optimizer = {momentum = 1}",
    "optimizer = {learning_rate = -1}",
    "optimizer = {lr = 1}",
    "gpus = 0",
    "gpus = [-1]",
    "set = 3",
    "set = {a = {b = {c = 1}}}",
    "set = {a = []}",
    "monitors = 'cpu'",
    "monitors = ['cpu', 'cpu']",
    "accept = {min_x = 1}",
    "accept = {min_throughput = '1'}",
    "timeout = 0",
    "window = [0]",
    "repeats = [1, 2]",
    "early_stop = 1",
    "results = ''",
    "seed = -1",
]
PROBLEMS_GOOD = [
    'problem = "x"',
    'problem = ["x", {name = "y", size = [1, 2], layers = 3}]',
    '[[problem.layers]]\nlayer = "InputLayer"\nshape = [3]\n[[problem.layers]]\nlayer = "LSTM"\nsize = 3',
    'problem = {loss = "cross_entropy", layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", '
    'layers = [{layer = "Dropout"}], shortcut = []}]}',
]
PROBLEMS_BAD = [
    "problem = 3",
    "problem = []",
    "problem = {size = 3}",
    'problem = {name = ""}',
    'problem = {name = "x", size = {a = 1}}',
    "problem = {layers = []}",
    'problem = {layers = [{layer = "InputLayer", shape = [3]}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "LTSM", size = 3}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "LSTM"}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "LSTM", size = 0}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "LSTM", size = 1, sizes = 2}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", layers = [3]}]}',
    'problem = {loss = "l2", layers = [{layer = "InputLayer", shape = [3]}, {layer = "Dropout"}]}',
]


def documents() -> list[tuple[str, bool]]:
    base = 'problem = "x"\nframework = "x"\n'
    found = [(base + text, True) for text in GOOD] + [(base + text, False) for text in BAD]
    named = 'framework = "x"\n'
    return found + [(named + t, True) for t in PROBLEMS_GOOD] + [(named + t, False) for t in PROBLEMS_BAD]


@pytest.mark.parametrize(("text", "good"), documents(), ids=[text[-40:] for text, _ in documents()])
def test_schema_and_check_agree(text: str, good: bool) -> None:
    data = tomllib.loads(text)
    assert (not field_faults(data)) is good
    assert Draft202012Validator(SCHEMA).is_valid(data) is good


def test_it_is_a_valid_schema_that_describes_every_field() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == list(FIELDS)
    assert all(field["description"].endswith(".") for field in SCHEMA["properties"].values())
    assert [layer["title"] for layer in SCHEMA["$defs"]["layer"]["oneOf"]] == list(LAYERS)
    assert SCHEMA["required"] == ["problem", "framework"]


@pytest.mark.parametrize("path", sorted((ROOT / "blueprints").glob("*.toml")), ids=lambda path: path.stem)
def test_our_blueprints_are_valid_by_the_schema(path: Any) -> None:
    Draft202012Validator(SCHEMA).validate(tomllib.loads(path.read_text()))


def test_the_command_prints_it(command: Command) -> None:
    finished = command("blueprint", "schema")
    assert finished.status == 0
    assert json.loads(finished.stdout) == SCHEMA
