"""What a framework computes of a problem, apart from any timing: the material of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.data import values
from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.dropout_masks import with_given_masks
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.verification import low_precision

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

PROBES: Mapping[str, Optimizer] = {
    "sgd": Optimizer("sgd", learning_rate=0.05, weight_decay=0.01),
    "momentum": Optimizer("momentum", learning_rate=0.05, momentum=0.8),
    "nesterov": Optimizer("nesterov", learning_rate=0.05, momentum=0.8),
    "adam": Optimizer("adam", learning_rate=0.002, beta1=0.8, beta2=0.95, epsilon=1e-2),
    "adamw": Optimizer("adamw", learning_rate=0.002, beta1=0.8, beta2=0.95, epsilon=1e-2, weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", learning_rate=0.002, decay=0.9, epsilon=1e-2),
    "adagrad": Optimizer("adagrad", learning_rate=0.005, epsilon=1e-2),
}
"""Each optimizer with constants that show its equations.

A large epsilon shows on which side of a root or a bias correction it is added (frameworks differ there, and
1e-8 hides it), and keeps a gradient that is zero but for rounding from being scaled up to a whole step; a
momentum far from 1 shows what it multiplies within a few steps."""

PROPORTIONAL = ("sgd", "momentum", "nesterov")
"""Optimizers whose step grows with the gradient, so that a problem with a large one flies apart."""
FASTER = 10.0
"""How much faster than by its own such optimizer a problem is trained at most."""

OWN = "own"
"""The optimizer that the problem itself is trained with, constants included."""
LATER = "later"
"""Plain gradient descent, of which only steps are followed that come after :data:`UNFOLLOWED` others."""
UNFOLLOWED, LATER_STEPS = 9, 5
"""Enough to meet each fifth step."""
LATER_SHARE = 0.25
"""Of the learning rate of the other probes: so many more steps go as far as theirs do."""
LATER_CALLS = 12
"""Calls of inference after the first, each on another mini-batch; the last is made twice."""
MAX_KEPT_ELEMENTS = 1 << 25
"""Of the outputs of later calls, which are compared together; of larger ones the last two calls are."""
LATER_SEEDS = 1000
"""From here on are the seeds of their mini-batches, which nothing else takes."""
COMMON = "common"
"""The mini-batch that outputs, loss and gradients are compared on."""
COMPARED = ("output", "loss", "gradient")
"""Kinds of findings besides the updates of each optimizer."""

ProbeResults = dict[str, tuple[str, Any]]
"""Tensor by name, with its kind: one of :data:`COMPARED`, or the optimizer whose update it is."""


@dataclass(frozen=True)
class ProbeSpec:
    """What is asked of a framework.

    Parameters
    ----------
    graph : Graph
        With its loss; training is left out without one.
    seed : int
        Of weights and mini-batches.
    probes : tuple of str
        Optimizers to train with: of :data:`PROBES`, :data:`OWN` or :data:`LATER`.
    steps : int
        Steps of each, on a mini-batch of its own each.
    own : Optimizer
        The problem's, which :data:`OWN` stands for.
    moved : float
        Share by which each weight is moved up or down: about what rounding does to it.
    precision : str
        What weights and mini-batches are rounded to, if it is coarser than float32.
    seeds : mapping
        Probe to the seeds of its mini-batches, step by step; consecutive ones where there are none. The
        one that outputs and gradients are compared on is that of the first step of :data:`COMMON`.
    calls : int
        Of inference after the first; the last is made twice.
    """

    graph: Graph
    seed: int
    probes: tuple[str, ...] = ()
    steps: int = 0
    own: Optimizer = Optimizer()
    moved: float = 0.0
    precision: str = "fp32"
    seeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    calls: int = 0

    @property
    def training_graph(self) -> Graph:
        """The graph as it is trained here, with dropout's masks in the mini-batch."""
        return with_given_masks(self.graph)

    def parameters(self) -> Arrays:
        """Return the weights that every framework starts from."""
        drawn = self.rounded(values.draw_parameters(self.graph, self.seed))
        if not self.moved:
            return drawn
        trainable = {p.name for p in self.graph.trainable}
        return {
            name: _moved(name, value, self.moved) if name in trainable else value
            for name, value in drawn.items()
        }

    def optimizer(self, probe: str) -> Optimizer:
        if probe == OWN:
            return self.own
        if probe == LATER:
            plain = self.optimizer("sgd")
            return replace(plain, learning_rate=LATER_SHARE * plain.learning_rate)
        chosen = PROBES[probe]
        if {chosen.kind, self.own.kind} - set(PROPORTIONAL):
            return chosen
        fastest = FASTER * self.own.learning_rate
        return replace(chosen, learning_rate=min(chosen.learning_rate, fastest))

    def followed(self, probe: str) -> range:
        """Return the numbers of the steps of a probe that are followed; those before them are only made."""
        return range(UNFOLLOWED, UNFOLLOWED + LATER_STEPS) if probe == LATER else range(self.steps)

    def batch(self, probe: str = COMMON, step: int = 0) -> Arrays:
        """Return the mini-batch of a step, masks included."""
        seeds = self.seeds.get(probe)
        return self.drawn(seeds[step] if seeds else self.seed + step)

    def drawn(self, seed: int) -> Arrays:
        """Return the mini-batch of a seed."""
        return self.rounded(values.draw_batch(self.training_graph, seed))

    def rounded(self, arrays: Mapping[str, Any]) -> Arrays:
        return low_precision.rounded(arrays, self.precision)


MOVED = 4.0
"""Units of roundoff that a few rounded operations move a result by."""
LOW_PRECISION_MOVED = 1.0
"""The same of a low precision, whose sums are mostly made in float32."""


def _moved(name: str, value: Any, share: float) -> Any:
    signs = values.draw(0, f"moved/{name}", TensorType(value.shape, "int64"), Distribution("integers", 2))
    # What float64 rounds is nothing to a float32.
    dtype = value.dtype if share >= np.finfo(value.dtype).eps / 2 else np.float64
    return (value * (1.0 + share * (2.0 * signs - 1.0))).astype(dtype)


Build = Callable[[Graph, Mapping[str, Any], str, Optimizer], Program]
"""Graph, parameters, mode and optimizer to a program."""


def compute(spec: ProbeSpec, build: Build) -> ProbeResults:
    """Compute outputs, loss and gradients.

    Parameters
    ----------
    spec : Question
        What to compute.
    build : callable
        Makes a program of the framework.
    """
    parameters, batch = spec.parameters(), spec.batch()
    results = _outputs(spec, build, parameters, batch)
    if spec.graph.loss is None:
        return results
    program = build(spec.training_graph, parameters, "training", Optimizer())
    loss, found = program.gradients(program.load(batch))
    results["loss"] = ("loss", np.asarray(loss))
    results.update({name: ("gradient", array) for name, array in found.items()})
    return results


def _outputs(spec: ProbeSpec, build: Build, parameters: Arrays, batch: Arrays) -> ProbeResults:
    graph = spec.graph.without_loss()
    program = build(graph, {p.name: parameters[p.name] for p in graph.parameters}, "inference", Optimizer())
    results = {
        name: ("output", a) for name, a in _inferred(program, graph, _loaded(program, graph, batch)).items()
    }
    return {**results, **_later_outputs(spec, program, graph, results)}


def _later_outputs(spec: ProbeSpec, program: Program, graph: Graph, first: ProbeResults) -> ProbeResults:
    """Return what later calls give, by output and call: all of them, or the last two where that is too much."""
    if not spec.calls:
        return {}
    numbers = range(2, spec.calls + 3)
    kept = numbers if len(numbers) * _elements(first) <= MAX_KEPT_ELEMENTS else numbers[-2:]
    results: ProbeResults = {}
    for number in numbers:
        # The last call takes its mini-batch once more: a step may have changed it.
        if number < numbers[-1]:
            native = _loaded(program, graph, spec.drawn(spec.seed + LATER_SEEDS + number - 2))
        arrays = _inferred(program, graph, native)
        if number in kept:
            results.update({f"{name}, call {number}": ("output", array) for name, array in arrays.items()})
    return results


def _elements(results: ProbeResults) -> int:
    return sum(np.size(array) for _, array in results.values())


def _loaded(program: Program, graph: Graph, batch: Arrays) -> Any:
    return program.load({i.name: batch[i.name] for i in graph.inputs})


def _inferred(program: Program, graph: Graph, native: Any) -> Arrays:
    output = program.infer(native)
    program.synchronize(output)
    arrays = program.fetch(output)
    if len(arrays) != len(graph.outputs):
        raise RuntimeError(
            f"the graph has {len(graph.outputs)} outputs, the framework returned {len(arrays)}"
        )
    # The next call may write to the same memory.
    return {name: np.array(array) for name, array in zip(graph.outputs, arrays)}
