"""The trace of a run of several ranks: what Perfetto reads, against the record's numbers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.results.rank_trace import rank_events, write_rank_trace
from benchmarker.cli.main import main
from benchmarker.errors import UsageError
from benchmarker.records.schema import validate
from benchmarker.records.store import Store
from tests.support.rank_records import several, single


def tracks(record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the spans of each track by its name, in the order of their beginning."""
    events = rank_events(record)
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
    for event in (event for event in events if event["ph"] == "X"):
        found[names[event["pid"], event["tid"]]].append(event)
    return found


def test_each_rank_has_a_track_with_its_parts_end_to_end() -> None:
    found = tracks(several(ranks=4))
    assert [name for name in found if name.startswith("rank")] == [f"rank {n}, CPU {n}" for n in range(4)]
    whole, *parts = found["rank 3, CPU 3"]
    assert [part["name"] for part in parts] == [
        "forward and backward",
        "fetch",
        "exchange and update",
        "assign",
    ]
    assert [part["dur"] for part in parts] == pytest.approx([13_000, 4_000, 15_000, 4_000])
    assert [part["ts"] for part in parts] == pytest.approx([0, 13_000, 17_000, 32_000])
    assert (whole["name"], whole["ts"], whole["dur"]) == ("step", 0, pytest.approx(36_000))
    assert whole["args"] == {
        "median_timed_step_seconds": pytest.approx(0.027),
        "compute_without_exchange_seconds": pytest.approx(0.013),
    }


def test_timed_steps_follow_each_other_and_the_last_block_may_be_short() -> None:
    record = several([0.01, 0.02, 0.03], block_steps=2, steps=5)
    record["timing"]["steady_state"]["start"] = 1
    spans = tracks(record)["steps, of the slowest rank"]
    assert [span["name"] for span in spans] == ["steps 0 to 1", "steps 2 to 3", "step 4"]
    assert [span["ts"] for span in spans] == pytest.approx([0, 20_000, 60_000])
    assert [span["dur"] for span in spans] == pytest.approx([20_000, 40_000, 30_000])
    assert [span["args"]["steady"] for span in spans] == [False, True, True]


def test_parts_stand_where_they_happened_if_that_was_recorded() -> None:
    record = several(ranks=2)
    for member in record["distributed"]["members"]:
        late = 0.001 * member["rank"]
        member["part_spans"] = [
            {"step": step, "part": part, "began_seconds": step * 0.03 + began + late, "seconds": seconds}
            for step in range(2)
            for part, began, seconds in (
                ("forward and backward", 0.0, 0.01),
                ("exchange and update", 0.01, 0.015),
            )
        ]
    assert validate(record) == []
    found = tracks(record)["rank 1, CPU 1"]
    assert [span["name"] for span in found] == [
        *("step 0", "forward and backward", "exchange and update"),
        *("step 1", "forward and backward", "exchange and update"),
    ]
    assert [span["ts"] for span in found] == pytest.approx([1_000, 1_000, 11_000, 31_000, 31_000, 41_000])
    assert [span["dur"] for span in found] == pytest.approx([25_000, 10_000, 15_000] * 2)
    titles = [event["args"]["name"] for event in rank_events(record) if event["name"] == "process_name"]
    assert "each part as it happened" in titles[1]


def test_a_native_exchange_shows_the_step_and_what_was_computed_apart() -> None:
    record = several(exchange="native")
    for member in record["distributed"]["members"]:
        member["part_seconds"] = {"compute": 0.02}
    whole, part = tracks(record)["rank 0, CPU 0"]
    assert (whole["name"], whole["dur"]) == ("step", pytest.approx(24_000))
    assert (part["name"], part["dur"]) == ("compute, without an exchange", pytest.approx(20_000))
    assert "not distinguished" in part["args"]["note"]


def test_the_trace_says_that_medians_are_laid_end_to_end() -> None:
    titles = [event["args"]["name"] for event in rank_events(several()) if event["name"] == "process_name"]
    assert titles[0] == "timed part: mnist_mlp by pytorch 2.13.0+cpu, all-reduce (mpi)"
    assert "medians, laid end to end: when each began was not recorded" in titles[1]


def test_one_rank_or_ranks_that_told_nothing_have_no_trace() -> None:
    with pytest.raises(UsageError, match="this record is of one"):
        rank_events(single())
    silent = several()
    silent["distributed"]["members"] = []
    with pytest.raises(UsageError, match="whose ranks reported their times"):
        rank_events(silent)


def test_the_command_writes_it_and_replaces_nothing_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Store(tmp_path).save(several())
    target = tmp_path / "ranks.json.gz"
    words = ["results", "show", str(path), f"--trace={target}"]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{target}\n"
    content = target.read_bytes()
    assert json.loads(gzip.decompress(content))["traceEvents"] == rank_events(json.loads(path.read_text()))
    assert main(words) == 2
    assert "--force" in capsys.readouterr().err
    write_rank_trace(several(ranks=4), target, force=True)
    assert target.read_bytes() != content
