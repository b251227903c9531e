"""Places in a contest and their history."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path

import pytest

from benchmarker.analysis.list_site.contests import read_contests
from benchmarker.analysis.list_site.entries import read_repository
from benchmarker.analysis.list_site.measures import money
from benchmarker.analysis.list_site.ranks import Rank
from benchmarker.analysis.list_site.reruns import keep
from benchmarker.analysis.list_site.standings import Standing, standings
from benchmarker.analysis.reproduction import compare
from benchmarker.records.migration import newest
from benchmarker.statistics import geometric_mean
from tests.conftest import ROOT
from tests.support.list_entries import CONTEST, contest_text, contests, processes, submit, write


def test_tiny_amounts_have_an_exponent_in_place_of_zeros() -> None:
    assert [money(amount) for amount in (0.1, 0.0012, 6.07e-7)] == ["0.1000", "0.001200", "6.070e-07"]


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


def test_seeds_of_a_training_are_one_entry_ranked_by_time_to_accuracy(tmp_path: Path) -> None:
    kept = sorted((ROOT / "results" / "training").glob("*_numpy-*_architecture_training_*.json"))
    records = [newest(json.loads(path.read_text(encoding="utf-8"))) for path in kept]
    campaigns = Counter(record["replication"]["campaign"] for record in records)
    seeds = [
        {**record, "metrics": {**record["metrics"], "cost_of_run": 0.001}}
        for record in records
        if record["training"]["recipe"]["name"] == "digits_mlp"
        and campaigns[record["replication"]["campaign"]] > 1
    ]
    again = [
        {**seeds[0], "id": uuid.uuid4().hex, "started_at": f"2026-12-01T00:00:0{place}.000000Z",
         "ended_at": f"2026-12-01T00:01:0{place}.000000Z", "repetition": place}
        for place in range(5)
    ]  # fmt: skip
    paths = write(tmp_path / "results", seeds)
    write(tmp_path / "results", again)
    keep(paths[0], compare(seeds[:1], again), seeds[:1], again)
    text = contest_text(seeds, CONTEST.replace("step_seconds", "seconds_to_target"))
    folder = contests(
        tmp_path / "contests", digits=text, cost=text.replace("seconds_to_target", "cost_to_target")
    )
    cost, digits = standings(read_contests(folder), read_repository(tmp_path / "results"))
    (place,) = digits.places
    assert len(place.judged.counted) == len(seeds) == 10
    times = [record["metrics"]["seconds_to_target"] for record in seeds]
    assert place.estimates["seconds_to_target"].centre == pytest.approx(geometric_mean(times))
    assert cost.places[0].estimates["cost_to_target"].centre > 0
