"""Operators of a step as a profiler tells of them: their shares, the trace, and what people are shown."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.analysis.charts import breakdown
from benchmarker.analysis.page.sections import sections
from benchmarker.analysis.text.summary import record_summary
from benchmarker.api.profile import PHASES, Call, Profile
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.records.schema import validate
from benchmarker.worker.measurement.profile import MAX_STEPS, by_node, steps_for, unprofiled
from benchmarker.worker.measurement.trace import write_trace
from tests.support.numpy_programs import build
from tests.support.records import make_record
from tests.worker.test_verified_start import JOB, run_events


def small() -> Graph:
    net = Network("small", 2)
    x = net.input("x", (4,))
    net.output(net.relu(net.dense("fc", x, 3)))
    return net.graph()


PROFILE = Profile(
    "a profiler",
    (
        Call("fc", "mm", "forward", 0.0, 0.2, 0, 0),
        Call("relu_1", "max", "forward", 0.2, 0.1, 0, 0),
        Call("fc", "mm_backward", "backward", 0.3, 0.4, 0, 0),
        Call(None, "sgd", "update", 0.7, 0.1, 0, 0),
        Call(None, "who knows", "other", 0.8, 0.1, 0, 0),
        Call("fc", "mm", "forward", 1.0, 0.6, 0, 1),
    ),
    ((0.0, 1.0), (1.0, 1.0)),
)


def test_times_are_by_node_and_add_up() -> None:
    found = by_node(PROFILE, small(), 0.5)
    fc, relu = found["nodes"]
    assert (fc["node"], fc["operator"], fc["native"]) == ("fc", "gemm", ["mm", "mm_backward"])
    assert (fc["forward_seconds"], fc["backward_seconds"]) == pytest.approx((0.4, 0.2))
    assert (fc["share"], relu["share"], fc["calls"]) == pytest.approx((0.6, 0.05, 1.5))
    assert (found["steps"], found["step_seconds"], found["slowdown"]) == (2, 1.0, 2.0)
    assert found["update_seconds"] == pytest.approx(0.05)
    assert found["unexplained_seconds"] == pytest.approx(0.3)
    assert found["unexplained_share"] == pytest.approx(0.3)


def test_what_runs_side_by_side_is_explained_once() -> None:
    beside = (*PROFILE.calls, Call("relu_1", "max", "forward", 1.1, 0.7, 1, 1))
    found = by_node(replace(PROFILE, calls=beside), small(), 0.5)
    assert found["unexplained_seconds"] == pytest.approx(0.2)


def test_the_number_of_steps_fits_the_time() -> None:
    assert steps_for(1.0, 0.1) == 10
    assert steps_for(1.0, 10.0) == 3
    assert steps_for(1.0, 1e-6) == MAX_STEPS


def test_the_trace_is_in_the_trace_event_format(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.json.gz"
    write_trace(path, PROFILE, small(), "small, training")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert names == {"small, training", "steps", "a profiler, thread 0"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["ph"] for event in events} == {"M", "X"}
    assert len(spans) == len(PROFILE.calls) + len(PROFILE.steps)
    last = spans[-1]
    assert (last["ts"], last["dur"]) == (1e6, 0.6e6)
    assert last["args"] == {"node": "fc", "operator": "gemm", "phase": "forward", "step": 1, "native": "mm"}
    threads = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert {span["tid"] for span in spans} == threads


@pytest.mark.parametrize("mode", ["inference", "training", "gradient"])
def test_numpy_tells_of_every_node(mode: str) -> None:
    problem = registry.problem("resnet18")
    graph = problem.graph(2, **problem.reduced)
    graph = graph.without_loss() if mode == "inference" else graph
    program = build(graph, draw_parameters(graph, 0), mode=mode)
    profile, *again = (program.profile(program.load(draw_batch(graph, 0)), 2) for _ in range(5))
    assert {call.node for call in profile.calls if call.phase == "forward"} == {n.name for n in graph.nodes}
    assert {call.phase for call in profile.calls} == {
        "inference": {"forward"},
        "training": {"forward", "backward", "update"},
        "gradient": {"forward", "backward"},
    }[mode]
    found = by_node(profile, graph, 0.1)
    update = found["update_seconds"] or 0.0
    explained = sum(node["share"] for node in found["nodes"]) + update / found["step_seconds"]
    assert explained + found["unexplained_share"] == pytest.approx(1.0)
    # The least of some: one collection of garbage is longer than these steps.
    assert min(by_node(each, graph, 0.1)["unexplained_share"] for each in (profile, *again)) < 0.5
    ends = [(call.start_seconds, call.start_seconds + call.seconds) for call in profile.calls]
    assert all(end <= start for (_, end), (start, _) in zip(sorted(ends), sorted(ends)[1:]))


def test_backward_calls_are_of_the_node_that_went_forward() -> None:
    graph = small()
    graph = graph.for_gradient()
    program = build(graph, draw_parameters(graph, 0), mode="gradient")
    profile = program.profile(program.load(draw_batch(graph, 0)), 1)
    backward = [(call.node, call.native) for call in profile.calls if call.phase == "backward"]
    assert backward == [("relu_1", "relu backward"), ("fc", "gemm backward")]
    assert {call.phase for call in profile.calls} <= set(PHASES)


def test_a_run_with_a_breakdown_has_a_profile_and_leaves_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace.json.gz"
    job = replace(JOB, mode="training", breakdown=True, trace=str(trace))
    profile = run_events(job, tmp_path)["result"]["profile"]
    assert {row["operator"] for row in profile["nodes"]} == {"gemm", "relu", "softmax_cross_entropy_loss"}
    assert json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]


def test_micro_batches_are_not_profiled_and_say_why(tmp_path: Path) -> None:
    job = replace(JOB, mode="training", breakdown=True, micro_batch=2, trace=str(tmp_path / "t"))
    profile = run_events(job, tmp_path)["result"]["profile"]
    assert "without --micro-batch" in profile["reason"]
    assert not (tmp_path / "t").exists()


def profiled(**changes: Any) -> dict[str, Any]:
    return make_record(profile={**by_node(PROFILE, small(), 0.5), "trace": "a.trace.json.gz"}, **changes)


@pytest.mark.parametrize("record", [profiled(), make_record(profile=unprofiled("there is none"))])
def test_records_with_a_profile_are_valid(record: dict[str, Any]) -> None:
    assert validate(record) == []


def test_shares_above_the_whole_step_are_explained() -> None:
    together = profiled()
    together["profile"]["nodes"][0]["share"] += 0.1
    says = "operators ran side by side, so shares exceed the step"
    assert says in " ".join(record_summary(together, "results/a.json").split())
    assert says not in " ".join(record_summary(profiled(), "results/a.json").split())


def test_a_summary_shows_the_largest_shares_and_the_rest() -> None:
    text = record_summary(profiled(), "results/a.json")
    assert "by a profiler, mean of 2 steps of 1.00 s, 2.00 times the timed one" in " ".join(text.split())
    rows = [line.split() for line in text.splitlines() if "%  " in line]
    assert [row[:2] for row in rows[-4:]] == [
        ["60.0%", "fc"],
        ["5.0%", "relu_1"],
        ["5.0%", "update:"],
        ["30.0%", "unexplained:"],
    ]
    assert "a.trace.json.gz, for ui.perfetto.dev" in text
    assert "none: there is none" in record_summary(make_record(profile=unprofiled("there is none")))


def test_the_page_has_a_table_of_operators() -> None:
    (section,) = [s for s in sections(profiled(), points=10) if s["title"] == "Operators"]
    (table,) = section["parts"]
    assert table["rows"][0][:3] == ["fc", "gemm", "60.0%"]


def test_the_picture_shows_operators_as_they_were_measured() -> None:
    shown = breakdown.chart([profiled()])
    (panel,) = [panel for panel in shown.panels if panel.title.endswith("measured, by operator")]
    assert {series.name: series.y[0] for series in panel.series} == pytest.approx(
        {"gemm": 60.0, "relu": 5.0, "update": 5.0, "unexplained": 30.0}
    )
    plain = breakdown.chart([make_record()])
    assert any(panel.title.endswith("predicted, by operator") for panel in plain.panels)
