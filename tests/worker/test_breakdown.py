"""The parts of a step, and the device's own clock, on a program whose times are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.worker.measurement.breakdown import MAX_STEPS, breakdown
from benchmarker.worker.measurement.device_events import DeviceEvents
from benchmarker.worker.measurement.sampling import sample


class Queued(Program):
    """Calls take 1 ns and queue work; synchronising takes as long as the work that is queued."""

    def __init__(self, has_parts: bool = True) -> None:
        self.now = 0
        self._queued = 0
        self._has_parts = has_parts

    def clock(self) -> int:
        return self.now

    def _queue(self, work: int) -> None:
        self.now += 1
        self._queued += work

    def load(self, batch: Mapping[str, Any]) -> Any:
        self._queue(20)
        return batch

    def infer(self, batch: Any) -> Any:
        self._queue(300)
        return batch

    def train_step(self, batch: Any) -> Any:
        self._queue(1800)
        return batch

    def train_parts(self, batch: Any) -> Iterator[tuple[str, Any]]:
        if not self._has_parts:
            yield from super().train_parts(batch)
        for name, work in (("forward", 300), ("backward", 600), ("update", 900)):
            self._queue(work)
            yield name, batch

    def synchronize(self, output: Any) -> None:
        self.now += self._queued
        self._queued = 0

    def device_event(self) -> Any:
        return self.now + self._queued

    def device_seconds(self, first: Any, last: Any) -> float:
        return float(last - first) / 1e9

    def parameters(self) -> dict[str, Any]:
        return {}

    def fetch(self, output: Any) -> tuple[Any, ...]:
        return ()


def test_each_part_is_its_calls_and_its_work() -> None:
    program = Queued()
    found = breakdown(program, "training", dict, seconds=1e-6, clock=program.clock)
    assert found["reason"] is None
    medians = {name: part["median_seconds"] * 1e9 for name, part in found["parts"].items()}
    assert medians == pytest.approx(
        {"synchronisation": 1820, "data": 21, "forward": 301, "backward": 601, "update": 901}
    )
    assert found["steps"] == len(found["parts"]["update"]["samples_seconds"]) == 3


def test_inference_has_a_forward_pass_alone() -> None:
    program = Queued()
    found = breakdown(program, "inference", dict, seconds=1.0, clock=program.clock)
    assert set(found["parts"]) == {"synchronisation", "data", "forward"}
    assert found["steps"] == MAX_STEPS


def test_a_step_in_one_piece_has_no_parts_and_says_why() -> None:
    program = Queued(has_parts=False)
    found = breakdown(program, "training", dict, seconds=1.0, clock=program.clock)
    assert found == {
        "steps": 0,
        "parts": {},
        "reason": "the framework runs a training step in one piece",
    }


def test_the_parts_together_are_the_step() -> None:
    graph = registry.problem("mnist_mlp").graph(4)
    parameters, batch = draw_parameters(graph, 3), draw_batch(graph, 3)

    def program() -> Program:
        return NumpyFramework().build(
            graph,
            parameters,
            mode="training",
            device=Device("cpu"),
            precision="fp32",
            optimizer=Optimizer("momentum"),
            options=None,
        )

    whole, parts = program(), program()
    for _ in range(3):
        whole.train_step(whole.load(batch))
        assert [name for name, _ in parts.train_parts(parts.load(batch))][-1] == "update"
    after = parts.parameters()
    assert all(np.array_equal(value, after[name]) for name, value in whole.parameters().items())


def test_device_events_stand_beside_the_wall_clock() -> None:
    program = Queued()
    events = DeviceEvents(program)
    step = events.around(program.train_step)
    samples = sample(step, program.synchronize, dict, 6, block_steps=3, clock=program.clock)
    assert list(samples.nanoseconds) == [3 * 1801] * 2
    assert events.seconds() == pytest.approx([1801e-9] * 6)


def test_a_step_too_short_for_events_goes_without() -> None:
    program = Queued()
    longer = DeviceEvents(program, step_seconds=1.0)
    shorter = DeviceEvents(program, step_seconds=1e-9)
    assert longer.around(program.train_step) is not program.train_step
    assert shorter.around(program.train_step) == program.train_step
    assert (longer.seconds(), shorter.seconds()) == ([], None)


def test_a_device_without_events_runs_the_bare_step() -> None:
    graph = registry.problem("mnist_mlp").graph(4)
    program = NumpyFramework().build(
        graph,
        draw_parameters(graph, 3),
        mode="training",
        device=Device("cpu"),
        precision="fp32",
        optimizer=Optimizer(),
        options=None,
    )
    events = DeviceEvents(program)
    step = program.train_step
    assert events.around(step) is step
    assert events.seconds() is None
    with pytest.raises(UnsupportedError, match="in one piece"):
        Program.train_parts(program, None)
