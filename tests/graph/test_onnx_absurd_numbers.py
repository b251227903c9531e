"""Models with numbers that make no sense: refused in a sentence, soon, without filling the memory."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarker.errors import UsageError
from benchmarker.graph.onnx.plain import MODEL_FILE
from benchmarker.orchestration.jobs.unpack_onnx import unpacked_model
from benchmarker.problems.onnx_file import imported_problem
from tests.support.onnx_models import KEPT

MODELS = sorted(path.name for path in KEPT.glob("*.onnx"))
ABSURD = (0, -1, 1, 3, 2**31 - 1, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1)
MUTATIONS = 60
Place = tuple[Any, ...]


@pytest.fixture(autouse=True)
def home(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are unpacked, and the environment is made, where all tests have their cache."""
    monkeypatch.setenv("BENCHMARKER_HOME", str(cache_home))


def whole_numbers(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield where whole numbers stand in a JSON value."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from whole_numbers(member, (*place, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from whole_numbers(member, (*place, index))
    elif type(value) is int:
        yield place


def put(value: Any, place: Place, number: int) -> None:
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = number


def changed(name: str, folder: Path, *changes: tuple[Place, int]) -> Path:
    """Return the folder of an unpacked model with other numbers in it."""
    kept, _ = unpacked_model(KEPT / name)
    for file in kept.iterdir():
        if file.name != MODEL_FILE and not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)
    model = json.loads((kept / MODEL_FILE).read_text())
    for place, number in changes:
        put(model, place, number)
    (folder / MODEL_FILE).write_text(json.dumps(model))
    return folder


def build(folder: Path) -> None:
    problem = imported_problem("changed", str(folder), "ab" * 32)
    problem.graph(2, **{size: 8 for size in problem.configure({}) if size != "loss"})


@pytest.mark.parametrize("name", MODELS)
def test_any_number_gives_a_graph_or_a_sentence(name: str, tmp_path: Path) -> None:
    model = json.loads((changed(name, tmp_path) / MODEL_FILE).read_text())
    places = [place for place in whole_numbers(model) if place[0] != "form"]
    draws, refused = random.Random(name), 0
    for _ in range(MUTATIONS):
        folder = changed(name, tmp_path, (draws.choice(places), draws.choice(ABSURD)))
        try:
            build(folder)
        except UsageError:
            refused += 1
    assert refused > MUTATIONS // 4


def test_positions_that_fill_the_memory_are_not_made(tmp_path: Path) -> None:
    length = ("inputs", 0, "dimensions", 1)
    with pytest.raises(UsageError, match=r"Range of shape \(2147483647,\), more than"):
        build(changed("torch_transformer_older.onnx", tmp_path, (length, 2**31 - 1)))
