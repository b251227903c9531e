"""Which records are one cell: the processes of one configuration, and the seeds of a training by a recipe."""

from __future__ import annotations

from benchmarker.records.cells import cells
from benchmarker.records.lookup import work_name
from tests.support.records import make_record
from tests.support.trainings import trained


def test_repetitions_are_one_cell_and_seeds_are_not() -> None:
    assert [len(cell.records) for cell in cells([make_record() for _ in range(3)])] == [3]
    assert [len(cell.records) for cell in cells([make_record(seed=n) for n in range(3)])] == [1, 1, 1]


def test_builds_of_one_python_are_cells_and_one_that_is_not_told_joins_the_only_one() -> None:
    one, two = "GCC 12.2.0, main, Dec 4 2023 18:10:11", "Clang 17.0.6, main, Jan 14 2025 22:47:38"
    builds = [make_record(environment__build=build) for build in (one, two, one)]
    assert [cell.records for cell in cells(builds)] == [(builds[0], builds[2]), (builds[1],)]
    before = make_record(environment__build=None)
    assert [len(cell.records) for cell in cells([before, builds[0], builds[2]])] == [3]
    assert [len(cell.records) for cell in cells([before, *builds])] == [1, 2, 1]


def test_seeds_of_a_training_by_a_recipe_are_its_repetitions() -> None:
    records = [trained([10, 95], seed=n, framework=name) for n in (7, 8, 9) for name in ("numpy", "jax")]
    assert {record["specification"]["seed"] for record in records} == {7, 8, 9}
    records[0]["specification"]["divergence"] = 60
    found = cells(records)
    assert [len(cell.records) for cell in found] == [3, 3]
    assert {cell.specification["seed"] for cell in found} == {42}
    assert {cell.specification["divergence"] for cell in found} == {None}


def test_recipes_are_cells_of_their_own_called_by_their_names() -> None:
    found = cells([trained([10, 95], recipe="a"), trained([10, 95], recipe="b"), make_record()])
    assert [work_name(cell.first) for cell in found[:2]] == ["a", "b"]
    assert work_name(found[2].first) == found[2].first["problem"]["name"]
