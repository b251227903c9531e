"""Whether ``synchronize`` waits: after it, the results must be there at once."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.worker.conformance.result import Measurement
from benchmarker.worker.conformance.subject import Check, Subject, draw_batch, draw_parameters
from benchmarker.worker.measurement.lateness import MAX_SHARE, Collect, Step, share_late, waited_for

_ENOUGH_SECONDS, _PLENTY_SECONDS = 0.02, 0.1
"""Of a step, at least; and of one that seems not to be waited for: others that use the GPU add to what is short."""
_BATCH_SIZE, _MAX_BATCH_SIZE = 1 << 8, 1 << 16
_MARGIN, _MAX_GROWTH = 1.25, 4
"""How much more than what should be enough is tried next, and how many times as much as before at most."""
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


def _share_late(program: Program, step: Step, collect: Collect, batch_size: int) -> tuple[float, float]:
    """Return the seconds of a step and the share of it that was late; of one that is too short, in a single trial."""
    waited_for(program, step, collect)
    samples = [waited_for(program, step, collect)]
    if batch_size == _MAX_BATCH_SIZE or _missing(*_middle(samples)) <= 1.0:
        samples += [waited_for(program, step, collect) for _ in range(_SAMPLES - 1)]
    return _middle(samples)


def _middle(samples: Sequence[tuple[float, float]]) -> tuple[float, float]:
    seconds = statistics.median(step + late for step, late in samples)
    return seconds, statistics.median(share_late(step, late) for step, late in samples)


def _missing(seconds: float, share: float) -> float:
    """Return how many times as long a step should take."""
    return (_PLENTY_SECONDS if share > MAX_SHARE else _ENOUGH_SECONDS) / max(seconds, 1e-9)


def _infer_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = heavy_network(batch_size).without_loss()
        program = subject.program(graph, draw_parameters(graph, subject.seed), "inference")
        batch = program.load(draw_batch(graph, subject.seed))
        return _share_late(program, lambda: program.infer(batch), program.fetch, batch_size)

    return _heavy_enough(measured)


def _train_waits(subject: Subject) -> Measurement:
    def measured(batch_size: int) -> tuple[float, float]:
        graph = heavy_network(batch_size)
        program = subject.program(graph, draw_parameters(graph, subject.seed), "training")
        batch = program.load(draw_batch(graph, subject.seed))
        # The parameters, not the loss: the loss may be there long before the update is.
        step, collect = (lambda: program.train_step(batch)), (lambda _: program.parameters())
        return _share_late(program, step, collect, batch_size)

    return _heavy_enough(measured)


def _heavy_enough(measured: Callable[[int], tuple[float, float]]) -> Measurement:
    batch_size = _BATCH_SIZE
    seconds, share = measured(batch_size)
    while _missing(seconds, share) > 1.0 and batch_size < _MAX_BATCH_SIZE:
        growth = min(_MAX_GROWTH, _MARGIN * _missing(seconds, share))
        batch_size = min(_MAX_BATCH_SIZE, _BATCH_SIZE * math.ceil(batch_size / _BATCH_SIZE * growth))
        seconds, share = measured(batch_size)
    detail = f"share of a step of {seconds * 1e3:.1f} ms that synchronize did not wait for"
    return Measurement(share, MAX_SHARE, detail)


def synchronization_checks() -> tuple[Check, ...]:
    return (Check("synchronize/infer", _infer_waits), Check("synchronize/train_step", _train_waits))
