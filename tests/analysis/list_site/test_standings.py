"""Places in a contest and their history."""

from __future__ import annotations

from pathlib import Path

from benchmarker.analysis.list_site.contests import read_contests
from benchmarker.analysis.list_site.entries import read_repository
from benchmarker.analysis.list_site.ranks import Rank
from benchmarker.analysis.list_site.standings import Standing, standings
from tests.support.list_entries import contest_text, contests, processes, submit


def standing_of(tmp_path: Path) -> Standing:
    (found,) = standings(
        read_contests(contests(tmp_path / "contests")), read_repository(tmp_path / "results")
    )
    return found


def labels(standing: Standing) -> dict[str, str]:
    return {place.judged.entry.key: place.judged.entry.label.split()[0] for place in standing.places}


def test_places_and_who_held_them_when(tmp_path: Path) -> None:
    for day, (framework, seconds) in enumerate(
        [("numpy", 0.03), ("mxnet", 0.02), ("pytorch", 0.02005), ("jax", 0.01)]
    ):
        submit(
            tmp_path / "results",
            seconds,
            day=1 + 2 * day,
            framework__name=framework,
            framework__full=f"{framework}-1",
        )
    found = standing_of(tmp_path)
    names = labels(found)
    assert [(names[place.judged.entry.key], place.rank) for place in found.places] == [
        ("jax", Rank(1, 1)),
        ("mxnet", Rank(2, 3)),
        ("pytorch", Rank(2, 3)),
        ("numpy", Rank(4, 4)),
    ]
    told = {
        place: [(one.since, [names[key] for key in one.holders]) for one in holdings]
        for place, holdings in found.history.items()
    }
    assert told == {
        1: [
            ("2025-03-01", ["numpy"]),
            ("2025-03-03", ["mxnet"]),
            ("2025-03-05", ["mxnet", "pytorch"]),
            ("2025-03-07", ["jax"]),
        ],
        2: [("2025-03-03", ["numpy"]), ("2025-03-05", []), ("2025-03-07", ["mxnet", "pytorch"])],
        3: [("2025-03-05", ["numpy"]), ("2025-03-07", [])],
        4: [("2025-03-07", ["numpy"])],
    }


def test_one_entry_may_be_in_several_contests(tmp_path: Path) -> None:
    submit(tmp_path / "results", 0.01)
    text = contest_text(processes(0.01))
    folder = contests(
        tmp_path / "contests", time=text, cost=text.replace("step_seconds", "cost_per_million_samples")
    )
    found = standings(read_contests(folder), read_repository(tmp_path / "results"))
    assert [(one.contest.name, len(one.places)) for one in found] == [("cost", 1), ("time", 1)]


def test_an_entry_that_does_not_count_holds_no_place(tmp_path: Path) -> None:
    submit(tmp_path / "results", 0.01, count=4)
    found = standing_of(tmp_path)
    assert (found.places, found.history, len(found.others)) == ((), {}, 1)
