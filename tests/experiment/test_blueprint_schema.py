"""The JSON Schema for editors says what the check says, because both come from one declaration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarker.experiment.blueprint.fields import FIELDS, field_faults
from benchmarker.experiment.blueprint.json_schema import blueprint_schema
from benchmarker.problems.layers.declared import LAYERS
from tests.conftest import ROOT, Command
from tests.support.toml import tomllib

SCHEMA = blueprint_schema()
GOOD = [
    "",
    'mode = ["training", "inference"]',
    "batch_size = 4",
    "batch_size = [4, 8]",
    'optimizer = "adam"',
    'optimizer = "lion"',
    'optimizer = "examples/optimizers/my_rule.py"',
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
    "optimizer = 'shampoo'",
    "optimizer = {kind = 'shampoo'}",
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
    "seed = inf",
    "batch_size = 4.5",
    "description = '   '",
    'results = "\\t \\n"',
    'results = "a\\u0000b"',
    "env = ['current', ' ']",
    "launcher = ''",
    "monitors = ['cpu', ' ']",
    "timeout = inf",
    "timeout = nan",
    "window = [1, inf]",
    "accept = {max_loss = -inf}",
    "optimizer = {learning_rate = inf}",
    "set = {a = inf}",
    'set = {a = {b = "x\\u0000"}}',
]
PROBLEMS_GOOD = [
    'problem = "x"',
    'problem = ["x", {name = "y", size = [1, 2], layers = 3}]',
    '[[problem.layers]]\nlayer = "InputLayer"\nshape = [3]\n[[problem.layers]]\nlayer = "LSTM"\nsize = 3',
    (
        'problem = {loss = "cross_entropy", layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", '
        'layers = [{layer = "Dropout"}], shortcut = []}]}'
    ),
]
FRAMEWORKS_BAD = [
    "framework = 3",
    "framework = ' '",
    "framework = {name = ' '}",
    "framework = {name = 'x', version = ' '}",
    "framework = {version = '1'}",
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
    'problem = " "',
    'problem = {name = " "}',
    'problem = {name = "x", a = -inf}',
    'problem = {name = "x", layers = [{layer = "InputLayer", shape = [3]}, {layer = "Dropout"}]}',
    'problem = {layers = [{layer = "Dropout"}, {layer = "Dropout"}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "InputLayer", shape = [3]}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", layers = []}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual"}]}',
    (
        'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", layers = '
        '[{layer = "InputLayer", shape = [3]}]}]}'
    ),
    (
        'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "Residual", layers = '
        '[{layer = "Dropout"}], shortcut = [{layer = "InputLayer", shape = [3]}]}]}'
    ),
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = "BatchNormalization", epsilon = inf}]}',
    'problem = {layers = [{layer = "InputLayer", shape = [3]}, {layer = ["Dropout"]}]}',
    'problem = {layers = [{layer = {a = 1}}, {layer = "Dropout"}]}',
    'problem = {loss = "l2", layers = [{layer = "InputLayer", shape = [3]}, {layer = "Dropout"}]}',
]


def documents() -> list[tuple[str, bool]]:
    base = 'problem = "x"\nframework = "x"\n'
    found = [(base + text, True) for text in GOOD]
    found += [(base + text, False) for text in BAD]
    found += [('problem = "x"\n' + text, False) for text in FRAMEWORKS_BAD]
    named = 'framework = "x"\n'
    return found + [(named + t, True) for t in PROBLEMS_GOOD] + [(named + t, False) for t in PROBLEMS_BAD]


@pytest.mark.parametrize(("text", "good"), documents(), ids=[text[-40:] for text, _ in documents()])
def test_schema_and_check_agree(text: str, good: bool) -> None:
    data = tomllib.loads(text)
    assert (not field_faults(data)) is good
    # JSON has no nan, which nothing that reads JSON would let through.
    assert Draft202012Validator(SCHEMA).is_valid(data) is (good or "= nan" in text)


def test_what_json_schema_cannot_say_is_left_to_the_check() -> None:
    # Its numbers know no difference between 4 and 4.0.
    data = tomllib.loads('problem = "x"\nframework = "x"\nbatch_size = 4.0')
    assert Draft202012Validator(SCHEMA).is_valid(data)
    assert len(field_faults(data)) == 1


def test_it_is_a_valid_schema_that_describes_every_field() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == list(FIELDS)
    assert all(field["description"].endswith(".") for field in SCHEMA["properties"].values())
    first, others = SCHEMA["$defs"]["input"], SCHEMA["$defs"]["layer"]["oneOf"]
    assert [layer["title"] for layer in (first, *others)] == list(LAYERS)
    assert SCHEMA["allOf"] == [
        {"anyOf": [{"required": ["problem"]}, {"required": ["suite"]}]},
        {"anyOf": [{"required": ["framework"]}]},
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "blueprints").glob("*.toml")), ids=lambda path: path.stem)
def test_our_blueprints_are_valid_by_the_schema(path: Any) -> None:
    errors = Draft202012Validator(SCHEMA).iter_errors(tomllib.loads(path.read_text()))
    assert [error.message for error in errors] == []


def test_the_command_prints_it(command: Command) -> None:
    finished = command("blueprint", "schema")
    assert finished.status == 0
    assert json.loads(finished.stdout) == SCHEMA
