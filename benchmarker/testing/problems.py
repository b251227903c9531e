"""Checks of small versions of the built-in problems, in every mode, against the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.problem import Problem
from benchmarker.problems import conv2d, lstm_imdb, mnist_mlp, resnet50, vgg16
from benchmarker.testing.result import CheckFailed, Measurement, compare, norm_error
from benchmarker.testing.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_FLOOR = 1e-4
_ROUNDING = 10.0
"""The tolerance is this many times the rounding error that the reference itself has in float32.

How far rounding reaches depends on the network, so it is measured: in ResNet-50 a float32 that falls on
the other side of a ReLU changes gradients by a few per cent, in the others it stays near 1e-6. Libraries
that order their sums otherwise differ from the reference by a small factor. The error is that of whole
tensors (Euclidean norms), because single values are at the mercy of such flips."""
_LOSS = "the loss"
_CEILING = 0.2
"""No more than this however large the rounding: a wrong function is off by about 1."""


_SAME_PARAMETERS = {"vgg16-dropout"}
"""Problems whose parameters another one of the list has too."""


@dataclass(frozen=True)
class SmallProblem:
    """A built-in problem, small enough for a test."""

    name: str
    problem: Callable[[], Problem]
    batch_size: int
    values: Mapping[str, Any] = field(default_factory=dict)

    def graph(self) -> Graph:
        """Return its graph."""
        return self.problem().graph(self.batch_size, **self.values)


_SMALL_CONV = {"channels": 8, "height": 12, "width": 10, "filters": 6}
_SMALL_VGG = {"image_size": 32, "classes": 10, "hidden": 32}
SMALL_PROBLEMS = (
    SmallProblem("mnist_mlp", mnist_mlp.benchmarker_problem, 8),
    SmallProblem("conv2d", conv2d.benchmarker_problem, 2, _SMALL_CONV),
    SmallProblem(
        "conv2d-groups",
        conv2d.benchmarker_problem,
        2,
        {**_SMALL_CONV, "groups": 2, "stride": 2, "dilation": 2, "bias": False},
    ),
    SmallProblem("lstm_imdb", lstm_imdb.benchmarker_problem, 4, {"words": 12, "features": 6, "units": 8}),
    SmallProblem("resnet50", resnet50.benchmarker_problem, 4, {"image_size": 64, "classes": 10}),
    SmallProblem("vgg16", vgg16.benchmarker_problem, 2, {**_SMALL_VGG, "dropout": 0.0}),
    SmallProblem("vgg16-dropout", vgg16.benchmarker_problem, 2, _SMALL_VGG),
)


def _inference(small: SmallProblem, subject: Subject) -> Measurement:
    graph = small.graph().without_loss()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "inference")
    found = fetch_outputs(program, graph, program.load(batch))
    exact, rounded = (_reference_outputs(graph, parameters, batch, p) for p in ("fp64", "fp32"))
    return compare(found, exact, _tolerance(rounded, exact), norm_error)


def _reference_outputs(
    graph: Graph, parameters: dict[str, Array], batch: dict[str, Array], precision: str
) -> dict[str, Array]:
    program = reference_program(graph, parameters, "inference", precision=precision)
    return fetch_outputs(program, graph, program.load(batch))


def _tolerance(rounded: dict[str, Array], exact: dict[str, Array]) -> float:
    rounding = compare(rounded, exact, 0.0, norm_error).error or 0.0
    return min(_CEILING, max(_FLOOR, _ROUNDING * rounding))


def _training(small: SmallProblem, subject: Subject) -> Measurement:
    graph = small.graph()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    optimizer = small.problem().optimizer
    program = subject.program(graph, parameters, "training", optimizer)
    loaded = program.load(batch)
    found = _loss_and_gradients(program.gradients(loaded))
    exact, rounded = (
        _loss_and_gradients(reference.gradients(reference.load(batch)))
        for reference in (
            reference_program(graph, parameters, "training", precision=p) for p in ("fp64", "fp32")
        )
    )
    (loss,) = program.fetch(program.train_step(loaded))
    if not np.isfinite(loss):
        raise CheckFailed(f"train_step returned the loss {loss}")
    _require_moved(graph, parameters, program.parameters())
    _require_loss(found, exact)
    return compare(found, exact, _tolerance(rounded, exact), norm_error)


def _require_loss(found: dict[str, Array], exact: dict[str, Array]) -> None:
    # No flip moves the loss much, so it is held to the floor, whatever the gradients' rounding is.
    found_loss, expected = float(found[_LOSS]), float(exact[_LOSS])
    if not abs(found_loss - expected) <= _FLOOR * max(abs(expected), 1.0):
        raise CheckFailed(f"the loss is {found_loss}, expected {expected}")


def _loss_and_gradients(result: tuple[float, dict[str, Array]]) -> dict[str, Array]:
    loss, gradients = result
    return {_LOSS: np.asarray(loss), **gradients}


def _require_moved(graph: Graph, before: dict[str, Array], after: dict[str, Array]) -> None:
    still = [p.name for p in graph.parameters if np.array_equal(before[p.name], after[p.name])]
    if still:
        raise CheckFailed(f"train_step must move every parameter; did not move: {', '.join(still[:5])}")


def _round_trip(small: SmallProblem, mode: str, subject: Subject) -> Measurement:
    graph = small.graph() if mode == "training" else small.graph().without_loss()
    start = draw_parameters(graph, subject.seed)
    for parameter in graph.parameters:  # no constants, so that a wrong order shows
        start[parameter.name] = start[parameter.name] + np.arange(
            parameter.type.elements, dtype=np.float32
        ).reshape(parameter.type.shape) / np.float32(parameter.type.elements)
    found = subject.program(graph, start, mode).parameters()
    if set(found) != set(start):
        raise CheckFailed(f"parameters() must name {sorted(start)}, got {sorted(found)}")
    wrong = [name for name, array in start.items() if not _same(found[name], array)]
    if wrong:
        raise CheckFailed(
            f"parameters() must return what build was given, bit for bit, in the graph's layout and float32; "
            f"it did not for {', '.join(wrong[:5])}"
        )
    return Measurement()


def _same(found: Array, expected: Array) -> bool:
    return found.dtype == np.float32 and found.shape == expected.shape and np.array_equal(found, expected)


def problem_checks() -> tuple[Check, ...]:
    """Return checks of parameters, inference and training for each small problem."""
    checks = []
    for small in SMALL_PROBLEMS:
        for mode in ("inference", "training") if small.name not in _SAME_PARAMETERS else ():
            checks.append(Check(f"parameters/{small.name}/{mode}", partial(_round_trip, small, mode)))
        checks.append(Check(f"problem/{small.name}/inference", partial(_inference, small)))
        checks.append(Check(f"problem/{small.name}/training", partial(_training, small)))
    return tuple(checks)
