"""``run --scenario``: one record a scenario, what is printed of them, and what is refused."""

from __future__ import annotations

import pytest

from benchmarker.records.keys import differences, step_key
from benchmarker.records.schema import validate
from tests.conftest import Command
from tests.support.command_lines import replaced

RUN = ("run", "--framework=numpy", "--problem=mnist_mlp", "--mode=inference", "--threads=1", "--batch-size=1")


@pytest.mark.framework("numpy")
def test_each_scenario_has_its_number_and_none_is_compared_with_another(command: Command) -> None:
    asked = ("--scenario=single-stream,offline,server", "--latency-bound=2", "--steps=459", "--warmup=3")
    finished = command(*RUN, *asked, "--json")
    assert finished.status == 0, finished.stderr
    records = {record["specification"]["scenario"]: record for record in finished.records}
    assert list(records) == ["single-stream", "offline", "server"]
    for name, record in records.items():
        assert validate(record) == []
        assert record["verification"]["after_timing"]["status"] == "passed"
        assert record["timing"]["scenario"]["name"] == name
        assert record["specification"]["latency_bound"] == (2.0 if name == "server" else None)
    one, all_at_once, server = records.values()
    told = one["timing"]["scenario"]
    assert one["metrics"]["single_stream_latency"] == told["percentile_seconds"]
    assert (all_at_once["timing"]["sampling"], all_at_once["timing"]["block_steps"]) == ("throughput", 22)
    found = server["timing"]["scenario"]["server"]
    assert server["metrics"]["latency_bounded_throughput"] == found["rate"]
    assert "latency_bounded_throughput" not in one["metrics"]
    assert len({record["comparable"]["hash"] for record in finished.records}) == 3
    assert differences(one["comparable"], server["comparable"])["scenario"] == ("single-stream", "server")
    shown = " ".join(command("results", "show", server["id"]).stdout.split())
    assert "samples/s within 2.000 s, interval [" in shown
    assert "latency 99th percentile" in shown
    refused = command("compare", f"id={one['id']}", f"id={server['id']}")
    assert refused.status == 2
    assert "scenario" in refused.stderr
    table = command("run", "--resume", *RUN[1:], *asked)
    printed = " ".join(table.stdout.split())
    assert "Within bound/s: samples per second" in printed
    assert "that of the first row with the same problem, mode, batch size and scenario" in printed
    assert len(set(map(step_key, finished.records))) == 3, "rows of one key are related to each other"


@pytest.mark.framework("numpy")
def test_a_bound_that_no_rate_keeps_is_said_plainly(command: Command) -> None:
    finished = command(
        *RUN, "--scenario=server", "--latency-bound=1e-7", "--steps=459", "--warmup=3", "--json"
    )
    assert finished.status == 0, finished.stderr
    (record,) = finished.records
    shown = " ".join(command("results", "show", record["id"]).stdout.split())
    assert "unreachable: no rate keeps 1e-07 s: with nothing to wait for" in shown
    assert "latency_bounded_throughput" not in record["metrics"]
    assert record["timing"]["scenario"]["server"]["rate"] is None
    assert validate(record) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scenario=servers",), "--scenario must be 'single-stream', 'offline' or 'server', got 'servers'"),
        (("--scenario=server",), "the scenario server needs a latency_bound, in seconds, got none"),
        (("--latency-bound=1",), "latency_bound is for the scenario server"),
        (("--scenario=offline", "--latency-bound=1"), "latency_bound is for the scenario server"),
        (("--scenario=server", "--latency-bound=0"), "--latency-bound must be a number above 0"),
        (
            ("--scenario=offline", "--mode=training"),
            "scenario is for inference and generation, got the mode training",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, arguments: tuple[str, ...], message: str) -> None:
    finished = command(*replaced(RUN, *arguments))
    assert finished.status == 2
    assert message in " ".join(finished.stderr.split())
    assert not (command.folder / "results").exists()


@pytest.mark.framework("numpy")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scenario=server", "--latency-bound=1", "--steps=458"), "needs at least 459 steps per trial"),
        (
            ("--scenario=offline", "--sampling=latency"),
            "the scenario offline has --sampling=throughput, got latency",
        ),
        (
            ("--scenario=single-stream", "--window=1"),
            "is timed for a number of steps or seconds, got --window",
        ),
    ],
)
def test_what_does_not_suit_a_scenario_is_not_run(
    command: Command, arguments: tuple[str, ...], message: str
) -> None:
    finished = command(*RUN, *arguments)
    assert finished.status in (1, 2)
    assert message in " ".join(finished.stderr.split())
