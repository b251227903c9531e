"""What a framework computes of a problem, apart from any timing: the material of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.framework import Optimizer, Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.masks import with_given_masks
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.worker import values

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

PROBES: Mapping[str, Optimizer] = {
    "sgd": Optimizer("sgd", learning_rate=0.02, weight_decay=0.01),
    "momentum": Optimizer("momentum", learning_rate=0.01, momentum=0.8),
    "nesterov": Optimizer("nesterov", learning_rate=0.01, momentum=0.8),
    "adam": Optimizer("adam", learning_rate=0.002, beta1=0.8, beta2=0.95, epsilon=1e-2),
    "adamw": Optimizer("adamw", learning_rate=0.002, beta1=0.8, beta2=0.95, epsilon=1e-2, weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", learning_rate=0.001, decay=0.9, epsilon=1e-2),
    "adagrad": Optimizer("adagrad", learning_rate=0.005, epsilon=1e-2),
}
"""Each optimizer with constants that show its equations.

A large epsilon shows on which side of a root or a bias correction it is added (frameworks differ there, and
1e-8 hides it); a momentum far from 1 shows what it multiplies within a few steps."""

OWN = "own"
"""The optimizer that the problem itself is trained with, constants included."""
COMPARED = ("output", "loss", "gradient")
"""Kinds of findings besides the updates of each optimizer."""

Findings = dict[str, tuple[str, Any]]
"""Tensor by name, with its kind: one of :data:`COMPARED`, or the optimizer whose update it is."""


@dataclass(frozen=True)
class Question:
    """What is asked of a framework.

    Parameters
    ----------
    graph : Graph
        With its loss; training is left out without one.
    seed : int
        Of weights and mini-batches.
    probes : tuple of str
        Optimizers to train with: of :data:`PROBES`, or :data:`OWN`.
    steps : int
        Steps of each, on a mini-batch of its own each.
    own : Optimizer
        The problem's.
    moved : bool
        Whether the weights are moved by about what rounding does to them, each up or down.
    """

    graph: Graph
    seed: int
    probes: tuple[str, ...] = ()
    steps: int = 0
    own: Optimizer = Optimizer()
    moved: bool = False

    @property
    def training_graph(self) -> Graph:
        """The graph as it is trained here, with dropout's masks in the mini-batch."""
        return with_given_masks(self.graph)

    def parameters(self) -> Arrays:
        """Return the weights that every framework starts from."""
        drawn = values.draw_parameters(self.graph, self.seed)
        if not self.moved:
            return drawn
        trainable = {p.name for p in self.graph.trainable}
        return {name: _moved(name, value) if name in trainable else value for name, value in drawn.items()}

    def batch(self, step: int = 0) -> Arrays:
        """Return the mini-batch of a step, masks included."""
        return values.draw_batch(self.training_graph, self.seed + step)


MOVED = 2.0**-22
"""Four units of roundoff of float32: what a few rounded operations do."""


def _moved(name: str, value: Any) -> Any:
    signs = values.draw(0, f"moved/{name}", TensorType(value.shape, "int64"), Distribution("integers", 2))
    return (value * (1.0 + MOVED * (2.0 * signs - 1.0))).astype(value.dtype)


Build = Callable[[Graph, Mapping[str, Any], str, Optimizer], Program]
"""Graph, parameters, mode and optimizer to a program."""


def compute(question: Question, build: Build) -> Findings:
    """Compute outputs, loss, gradients, and what training changes with each optimizer.

    Parameters
    ----------
    question : Question
        What to compute.
    build : callable
        Makes a program of the framework.
    """
    parameters, batch = question.parameters(), question.batch()
    findings = _outputs(question, build, parameters, batch)
    if question.graph.loss is None:
        return findings
    program = build(question.training_graph, parameters, "training", Optimizer())
    loss, found = program.gradients(program.load(batch))
    findings["loss"] = ("loss", np.asarray(loss))
    findings.update({name: ("gradient", array) for name, array in found.items()})
    for probe in question.probes:
        findings.update(_updates(question, build, parameters, probe))
    return findings


def _outputs(question: Question, build: Build, parameters: Arrays, batch: Arrays) -> Findings:
    graph = question.graph.without_loss()
    program = build(graph, {p.name: parameters[p.name] for p in graph.parameters}, "inference", Optimizer())
    output = program.infer(program.load({i.name: batch[i.name] for i in graph.inputs}))
    program.synchronize(output)
    arrays = program.fetch(output)
    if len(arrays) != len(graph.outputs):
        raise RuntimeError(
            f"the graph has {len(graph.outputs)} outputs, the framework returned {len(arrays)}"
        )
    return {name: ("output", array) for name, array in zip(graph.outputs, arrays)}


def _updates(question: Question, build: Build, parameters: Arrays, probe: str) -> Findings:
    """Train some steps and return the way that each parameter and running statistic went."""
    graph = question.training_graph
    optimizer = question.own if probe == OWN else PROBES[probe]
    program = build(graph, parameters, "training", optimizer)
    losses = []
    for step in range(question.steps):
        output = program.train_step(program.load(question.batch(step)))
        program.synchronize(output)
        losses.append(float(program.fetch(output)[0]))
    after = program.parameters()
    moving = {p.name for p in graph.trainable}.union(*(node.statistics for node in graph.nodes))
    findings: Findings = {f"{probe}: losses": (probe, np.array(losses))}
    for name in sorted(moving):
        way = after[name].astype(np.float64) - parameters[name].astype(np.float64)
        findings[f"{probe}: {name}"] = (probe, way)
    return findings
