"""Whether ``synchronize`` waits: after it, the results must be there at once."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarker.framework import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.testing.result import Measurement
from benchmarker.testing.subject import Check, Subject, draw_batch, draw_parameters

_ENOUGH_SECONDS = 0.02
_LARGEST_BATCH = 1 << 16
_SAMPLES = 5
_LARGEST_SHARE = 0.4
"""Share of a step that may still have to be waited for; a program that waits leaves none, one that
does not leaves nearly all, and a busy machine adds to both."""


def _network(batch_size: int) -> Graph:
    """Return a stack of matrix products: long to compute, with little to fetch."""
    net = Network("synchronization", batch_size)
    x = net.input("x", (512,))
    label = net.labels("label", 10)
    for layer in range(6):
        x = net.relu(net.dense(f"fc{layer}", x, 512))
    x = net.dense("classifier", x, 10)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


Step = Callable[[], Any]
Collect = Callable[[Any], object]


def _waited_for(program: Program, step: Step, collect: Collect) -> tuple[float, float]:
    """Return the seconds of one synchronised step, and those that its results were late after it.

    The results are collected twice; the second time nothing is left to wait for, which gives the
    cost of collecting itself.
    """
    start = perf_counter()
    output = step()
    program.synchronize(output)
    synchronised = perf_counter()
    collect(output)
    first = perf_counter()
    collect(output)
    second = perf_counter()
    return synchronised - start, max(0.0, (first - synchronised) - (second - first))


def _share_late(program: Program, step: Step, collect: Collect) -> tuple[float, float]:
    _waited_for(program, step, collect)
    samples = [_waited_for(program, step, collect) for _ in range(_SAMPLES)]
    seconds = statistics.median(step + late for step, late in samples)
    return seconds, statistics.median(late / (step + late) for step, late in samples)


def _infer_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = _network(batch_size).without_loss()
        program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
        batch = program.load(draw_batch(graph, subject.seed))
        return _share_late(program, lambda: program.infer(batch), program.fetch)

    return _heavy_enough(measured)


def _train_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = _network(batch_size)
        program = subject.program(graph, draw_parameters(graph, subject.seed), "training")
        batch = program.load(draw_batch(graph, subject.seed))
        # The parameters, not the loss: the loss may be there long before the update is.
        return _share_late(program, lambda: program.train_step(batch), lambda _: program.parameters())

    return _heavy_enough(measured)


def _heavy_enough(measured: Callable[[int], tuple[float, float]]) -> Measurement:
    batch_size = 256
    seconds, share = measured(batch_size)
    while seconds < _ENOUGH_SECONDS and batch_size < _LARGEST_BATCH:
        batch_size *= 4
        seconds, share = measured(batch_size)
    detail = f"share of a step of {seconds * 1e3:.1f} ms that synchronize did not wait for"
    return Measurement(share, _LARGEST_SHARE, detail)


def synchronization_checks() -> tuple[Check, ...]:
    """Return the checks of ``synchronize``."""
    return (Check("synchronize/infer", _infer_waits), Check("synchronize/train_step", _train_waits))
