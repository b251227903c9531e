"""Load in scenarios, in this process with the real NumPy plugin: what each measures, and faults that must show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement.scenarios import offline_steps
from benchmarker.worker.measurement.server_search import CONFIRMATIONS
from tests.support.faulty_frameworks import framework_of
from tests.worker.test_verified_start import JOB, run_events

ASKED = replace(JOB, mode="inference", steps=None, target_seconds=0.05)
SLEEP = 0.02


def sleepy(every: int) -> Callable[[], NumpyFramework]:
    """Return a framework of whose steps each so-manieth sleeps."""

    class Program(NumpyProgram):
        steps = 0

        def infer(self, batch: Any) -> Any:
            Program.steps += 1
            if Program.steps % every == 0:
                time.sleep(SLEEP)
            return super().infer(batch)

    return framework_of(Program)


def scenario_of(job: RunJob, folder: Path, *framework: Any) -> dict[str, Any]:
    events = run_events(job, folder, *framework)
    assert events["verification"]["status"] == "passed"
    assert events["proof"]["status"] == "passed", events["proof"]
    told: dict[str, Any] = events["result"]["scenario"]
    return {**told, "result": events["result"]}


def test_one_query_after_the_other_has_a_percentile_with_its_bounds(tmp_path: Path) -> None:
    told = scenario_of(replace(ASKED, scenario="single-stream"), tmp_path)
    assert (told["name"], told["percentile"], told["query_samples"]) == ("single-stream", 90, 6)
    assert told["queries"] == told["result"]["steps"] >= 64
    assert 0 < told["at_least_seconds"] <= told["percentile_seconds"] <= told["at_most_seconds"]
    assert told["server"] is told["latencies_seconds"] is None


def test_all_at_once_is_synchronised_once_a_query(tmp_path: Path) -> None:
    job = replace(ASKED, scenario="offline", sampling="throughput", steps=60)
    told = scenario_of(job, tmp_path)
    assert (told["queries"], told["query_samples"], told["result"]["steps"]) == (20, 3 * 6, 60)
    assert told["percentile"] is None
    assert offline_steps(replace(job, steps=None, target_seconds=1.0), 0.001) == (1000, 50)
    assert offline_steps(replace(job, steps=7), 0.001) == (7, 1)


def test_a_server_is_searched_and_the_rate_confirmed(tmp_path: Path) -> None:
    told = scenario_of(replace(ASKED, scenario="server", latency_bound=2.0, steps=459), tmp_path)
    server = told["server"]
    assert server["outcome"] == "sustained", server
    assert server["rate_interval"][0] == server["rate"] <= server["rate_interval"][1]
    assert server["rate"] > 0.8 * server["capacity"], "with so wide a bound nearly the capacity is sustained"
    assert len(told["latencies_seconds"]) == told["queries"] == CONFIRMATIONS * 459
    assert told["at_most_seconds"] <= 2.0
    timed = [trial for trial in server["trials"] if trial["part"] == "confirmation"]
    assert told["result"]["steps"] == sum(trial["queries"] for trial in timed)
    services = told["result"]["samples_nanoseconds"]
    waited = [latency - ns / 1e9 for latency, ns in zip(told["latencies_seconds"], services[-3 * 459 :])]
    assert min(waited) >= -1e-9, "a latency holds what its step took"
    assert max(waited) > 0


@pytest.mark.parametrize(("every", "seen"), [(7, True), (40, False)])
def test_steps_that_sleep_are_in_the_percentile_if_they_are_so_many(
    every: int, seen: bool, tmp_path: Path
) -> None:
    """One of seven is more than a tenth, one of forty is less; the latter shows in the slowest alone."""
    told = scenario_of(replace(ASKED, scenario="single-stream", steps=400), tmp_path, sleepy(every))
    assert (told["at_most_seconds"] >= SLEEP) == seen
    if seen:
        assert told["percentile_seconds"] >= SLEEP
    assert max(told["result"]["samples_nanoseconds"]) >= SLEEP * 1e9


def test_a_server_that_sleeps_too_often_reaches_its_bound_at_no_rate(tmp_path: Path) -> None:
    """One of thirty is three of a hundred, so the 99th percentile is a sleep however few queries come."""
    job = replace(ASKED, scenario="server", latency_bound=SLEEP / 2, steps=700)
    told = scenario_of(job, tmp_path, sleepy(30))
    server = told["server"]
    assert (server["outcome"], server["rate"]) == ("unreachable", None)
    assert server["reason"].startswith("no rate keeps 0.01 s: with nothing to wait for, the 99th percentile")
    assert [trial["part"] for trial in server["trials"]] == ["alone"]
    assert told["percentile_seconds"] >= SLEEP
