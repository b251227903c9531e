"""A part of an experiment: each cell in exactly one, with all its repetitions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarker.errors import UsageError
from benchmarker.experiment.parts import Part, cells_of
from benchmarker.experiment.planning import matrix
from benchmarker.experiment.spec import Experiment, RunSpec


def runs(cells: int, repeats: int) -> list[RunSpec]:
    sizes = tuple(range(1, cells + 1))
    return matrix(
        Experiment(frameworks=("numpy",), problems=("mnist_mlp",), batch_sizes=sizes, repeats=repeats)
    )


@settings(max_examples=50, deadline=None)
@given(cells=st.integers(1, 12), data=st.data(), repeats=st.integers(1, 3))
def test_each_cell_is_in_one_part_with_all_its_repetitions(
    cells: int, data: st.DataObject, repeats: int
) -> None:
    every = runs(cells, repeats)
    count = data.draw(st.integers(1, cells))
    parts = [Part(number, count).of(every) for number in range(1, count + 1)]
    found = [(run.batch_size, run.repetition) for part in parts for run in part]
    assert sorted(found) == sorted((run.batch_size, run.repetition) for run in every)
    sizes = [len(cells_of(part)) for part in parts]
    assert sum(sizes) == cells
    assert max(sizes) - min(sizes) <= 1
    assert all(len(part) == size * repeats for part, size in zip(parts, sizes))


def test_more_parts_than_cells_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--part=1/4 asks for more parts than there are cells: .* 3 cells"):
        Part(1, 4).of(runs(3, 2))


@pytest.mark.parametrize(
    "text", [" ", "1", "0/2", "3/2", "1/0", "-1/2", "a/b", "1/2/3", "01/2", "1/9999999999"]
)
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        Part.parse(text)


def test_a_part_is_written_as_it_is_read() -> None:
    assert str(Part.parse(" 2/8 ")) == "2/8"
