"""Whether ``synchronize`` waits: after it, the results must be there at once."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.worker.conformance.result import Measurement
from benchmarker.worker.conformance.subject import Check, Subject, draw_batch, draw_parameters
from benchmarker.worker.measurement.lateness import MAX_SHARE, Collect, Step, share_late, waited_for

_ENOUGH_SECONDS, _PLENTY_SECONDS = 0.02, 0.1
"""Of a step, at least; and of one that seems not to be waited for: others that use the GPU add to what is short."""
_MAX_BATCH_SIZE = 1 << 16
_SAMPLES = 5


def heavy_network(batch_size: int) -> Graph:
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


def _share_late(program: Program, step: Step, collect: Collect) -> tuple[float, float]:
    waited_for(program, step, collect)
    samples = [waited_for(program, step, collect) for _ in range(_SAMPLES)]
    seconds = statistics.median(step + late for step, late in samples)
    return seconds, statistics.median(share_late(step, late) for step, late in samples)


def _infer_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = heavy_network(batch_size).without_loss()
        program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
        batch = program.load(draw_batch(graph, subject.seed))
        return _share_late(program, lambda: program.infer(batch), program.fetch)

    return _heavy_enough(measured)


def _train_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = heavy_network(batch_size)
        program = subject.program(graph, draw_parameters(graph, subject.seed), "training")
        batch = program.load(draw_batch(graph, subject.seed))
        # The parameters, not the loss: the loss may be there long before the update is.
        return _share_late(program, lambda: program.train_step(batch), lambda _: program.parameters())

    return _heavy_enough(measured)


def _heavy_enough(measured: Callable[[int], tuple[float, float]]) -> Measurement:
    batch_size = 256
    seconds, share = measured(batch_size)
    while (
        seconds < (_PLENTY_SECONDS if share > MAX_SHARE else _ENOUGH_SECONDS) and batch_size < _MAX_BATCH_SIZE
    ):
        batch_size *= 4
        seconds, share = measured(batch_size)
    detail = f"share of a step of {seconds * 1e3:.1f} ms that synchronize did not wait for"
    return Measurement(share, MAX_SHARE, detail)


def synchronization_checks() -> tuple[Check, ...]:
    return (Check("synchronize/infer", _infer_waits), Check("synchronize/train_step", _train_waits))
