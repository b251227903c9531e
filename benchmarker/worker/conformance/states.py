"""Checks of what only a training step shows: dropout's masks and batch normalization's running statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.initializers import ZEROS
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.result import OPERATOR_TOLERANCE, CheckFailed, Measurement, relative_error
from benchmarker.worker.conformance.subject import Check, Subject, draw_batch, draw_parameters

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_ELEMENTS = (64, 256)
_SIGMAS = 6.0
"""A right framework is outside this many standard deviations once in 5e8 runs."""


def _dropout_graph(ratio: float) -> Graph:
    """``mean(dropout(x + shift))``: the gradient of ``shift`` is the mask over the number of elements."""
    net = Network("dropout", _ELEMENTS[0])
    x = net.input("x", _ELEMENTS[1:])
    y = net.dropout(net.add(x, net.parameter("shift", _ELEMENTS, ZEROS)), ratio=ratio)
    net.output(y)
    net.loss(net.reduce_mean(y))
    return net.graph()


@dataclass(frozen=True)
class _Drops:
    """What two steps of dropout showed.

    Parameters
    ----------
    ratio : float
        The share of elements that it is to drop.
    x : array
        What was dropped from.
    loss : float
        Of the first step.
    first, second : array
        The mask of each step, which the update of ``shift`` shows.
    """

    ratio: float
    x: Array
    loss: float
    first: Array
    second: Array


def _drops(ratio: float, subject: Subject) -> _Drops:
    graph = _dropout_graph(ratio)
    batch = draw_batch(graph, subject.seed)
    elements = math.prod(_ELEMENTS)
    # The loss is a mean, so with this rate the shift moves by the mask itself.
    optimizer = Optimizer("sgd", learning_rate=float(elements))
    program = subject.program(graph, draw_parameters(graph, subject.seed), "training", optimizer)
    loaded = program.load(batch)
    before, masks, losses = np.zeros(_ELEMENTS), [], []
    for _ in range(2):
        losses.append(float(program.fetch(program.train_step(loaded))[0]))
        after = program.parameters()["shift"].astype(np.float64)
        masks.append(before - after)
        before = after
    return _Drops(ratio, batch["x"].astype(np.float64), losses[0], *masks)


def _dropout_mask(drops: _Drops) -> Measurement:
    kept = 1.0 / (1.0 - drops.ratio)
    expected = np.where(drops.first > 0.5, kept, 0.0)
    error = relative_error(drops.first, expected)
    return Measurement(error, OPERATOR_TOLERANCE, f"kept elements must be multiplied by {kept}")


def _dropout_fraction(drops: _Drops) -> Measurement:
    ratio, mask = drops.ratio, drops.first
    zeroed = float((mask < 0.5).mean())
    bound = _SIGMAS * math.sqrt(ratio * (1.0 - ratio) / mask.size)
    detail = f"the fraction zeroed is {zeroed:.4f}, expected {ratio}, and so the mean is kept"
    return Measurement(abs(zeroed - ratio), bound, detail)


def _dropout_consistent(drops: _Drops) -> Measurement:
    kept = drops.x * drops.first
    error = abs(drops.loss - float(kept.mean())) / float(np.abs(kept).mean())
    return Measurement(error, OPERATOR_TOLERANCE, "forward and backward must use the same mask")


def _dropout_fresh(drops: _Drops) -> Measurement:
    differing = float((np.abs(drops.first - drops.second) > 0.5).mean())
    expected = 2.0 * drops.ratio * (1.0 - drops.ratio)
    if differing < 0.5 * expected:
        raise CheckFailed(
            f"each step must draw a new mask: {differing:.4f} of the elements differ, expected {expected:.4f}"
        )
    return Measurement(detail=f"{differing:.4f} of the elements differ")


def _dropout_checks(ratio: float) -> Iterator[Check]:
    drops = lru_cache(maxsize=1)(partial(_drops, ratio))  # of the subject that is checked

    def check(name: str, measure: Callable[[_Drops], Measurement]) -> Check:
        return Check(f"dropout/{name}-{ratio}", lambda subject: measure(drops(subject)))

    yield check("mask", _dropout_mask)
    yield check("fraction", _dropout_fraction)
    yield check("gradient-consistent", _dropout_consistent)
    yield check("new-each-step", _dropout_fresh)


_MOMENTUM = 0.7


def _statistics_graph(shape: tuple[int, ...]) -> Graph:
    net = Network("running_statistics", shape[0])
    x = net.input("x", shape[1:])
    y = net.batch_norm("bn", x, momentum=_MOMENTUM)
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))
    return net.graph()


def _running_statistics(shape: tuple[int, ...], subject: Subject) -> Measurement:
    graph = _statistics_graph(shape)
    start = draw_parameters(graph, subject.seed)
    channels = shape[1]
    start["bn.running_mean"] = np.linspace(-1.0, 1.0, channels).astype(np.float32)
    start["bn.running_var"] = np.linspace(0.5, 2.0, channels).astype(np.float32)
    program = subject.program(graph, start, "training")
    batch = draw_batch(graph, subject.seed)
    loss = program.train_step(program.load(batch))
    program.synchronize(loss)
    found = program.parameters()
    x = batch["x"].astype(np.float64)
    axes = (0, *range(2, x.ndim))
    means = _moved(start["bn.running_mean"], x.mean(axis=axes))
    variances = _moved(start["bn.running_var"], x.var(axis=axes))
    error = relative_error(found["bn.running_mean"], means)
    if not error <= OPERATOR_TOLERANCE:
        return Measurement(error, OPERATOR_TOLERANCE, "the running mean")
    error = relative_error(found["bn.running_var"], variances)
    return Measurement(error, OPERATOR_TOLERANCE, "the running variance, moved by the biased one")


def _moved(old: Array, batch: Array) -> Array:
    return np.asarray(_MOMENTUM * old.astype(np.float64) + (1.0 - _MOMENTUM) * batch)


def state_checks() -> tuple[Check, ...]:
    """Return the checks of dropout in training and of the running statistics."""
    shapes = {"2d": (6, 4, 5, 5), "matrix": (16, 5), "1d": (5, 3, 8), "3d": (4, 3, 3, 4, 3)}
    return (
        *_dropout_checks(0.5),
        *_dropout_checks(0.2),
        *(
            Check(f"running_statistics/{name}", partial(_running_statistics, shape))
            for name, shape in shapes.items()
        ),
    )
