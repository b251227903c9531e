"""The framework under test, beside the float64 reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.own_place import own_place
from benchmarker.api.program import Program
from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import missing_operators
from benchmarker.graph.types import Distribution, TensorType
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.conformance.result import (
    NO_MEANING,
    OPERATOR_TOLERANCE,
    CheckFailed,
    CheckResult,
    Measurement,
    Skipped,
)
from benchmarker.worker.program import ProgramBuilder
from benchmarker.worker.verification.tolerances import floor_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)  # known by itself, so that what was found of it can be kept
class Subject:
    """A framework under test.

    Parameters
    ----------
    framework : Framework
        Already configured for ``device``.
    plugin : FrameworkPlugin
        What it says of itself.
    device : Device
        Where its programs run.
    seed : int
        Seed of all values.
    options : object, optional
        An instance of the plugin's options dataclass; its defaults if it is left out.
    """

    framework: Framework
    plugin: FrameworkPlugin
    device: Device
    seed: int = 0
    options: Any = None

    def require(self, graph: Graph, mode: str) -> None:
        """Skip the check if the framework lacks an operator of ``graph`` or the mode."""
        if mode not in self.plugin.modes:
            raise Skipped(f"the plugin does not declare the mode '{mode}'")
        missing = missing_operators(graph, self.framework.operators)
        if missing:
            raise Skipped(f"{NO_MEANING}{', '.join(sorted(missing))}")

    def tolerance(self, graph: Graph) -> float:
        """Return how far the framework's float32 may be off where one operator is checked."""
        return max(OPERATOR_TOLERANCE, floor_of(graph.operators, self.device.type))

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        mode: str,
        optimizer: Optimizer | None = None,
        precision: str = "fp32",
    ) -> Program:
        """Build ``graph`` with the framework under test, or skip if it cannot have it."""
        self.require(graph, mode)
        options = self.plugin.options() if self.options is None else self.options
        builder = ProgramBuilder(self.framework, self.device, precision, options)
        return builder.build(graph, parameters, mode, optimizer or Optimizer())


@dataclass(frozen=True)
class Check:
    """One question to a framework.

    Parameters
    ----------
    name : str
        Unique path.
    measure : callable
        Asks the subject; raises :class:`Skipped`, or any other exception if it failed.
    """

    name: str
    measure: Callable[[Subject], Measurement]

    def run(self, subject: Subject) -> CheckResult:
        """Return the verdict; whatever the framework raises is one."""
        try:
            found = self.measure(subject)
        except (Skipped, UnsupportedError) as reason:  # a gap that the framework declares
            return CheckResult(self.name, "skipped", str(reason))
        except CheckFailed as failure:
            return CheckResult(self.name, "failed", str(failure))
        except Exception as error:
            place = own_place(error, subject.plugin.implementation.partition(":")[0])
            return CheckResult(self.name, "failed", f"{type(error).__name__}: {error}{place}")
        return CheckResult.of(self.name, found)


def reference_program(
    graph: Graph,
    parameters: Mapping[str, Array],
    mode: str,
    optimizer: Optimizer | None = None,
    precision: str = "fp64",
) -> Program:
    """Build ``graph`` with the NumPy reference."""
    builder = ProgramBuilder(NumpyFramework(), Device("cpu"), precision, None)
    return builder.build(graph, parameters, mode, optimizer or Optimizer())


def draw(name: str, type_: TensorType, distribution: Distribution, seed: int) -> Array:
    """Return values for one tensor; each name has a stream of its own."""
    return values.draw(seed, name, type_, distribution)


def draw_parameters(graph: Graph, seed: int) -> dict[str, Array]:
    """Return start values of all parameters of ``graph``."""
    return {p.name: draw(p.name, p.type, p.initializer, seed) for p in graph.parameters}


def draw_batch(graph: Graph, seed: int) -> dict[str, Array]:
    return {i.name: draw(i.name, i.type, i.distribution, seed) for i in graph.inputs}


def fetch_outputs(program: Program, graph: Graph, batch: Any) -> dict[str, Array]:
    """Run inference on a loaded mini-batch and return its outputs by name."""
    output = program.infer(batch)
    program.synchronize(output)
    return dict(zip(graph.outputs, program.fetch(output)))


def train_with_reference(
    subject: Subject, graph: Graph, start: Mapping[str, Array], optimizer: Optimizer, steps: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Train with the subject and with the reference, a mini-batch per step, and return both's parameters."""
    program = subject.program(graph, start, "training", optimizer)
    reference = reference_program(graph, start, "training", optimizer)
    for step in range(steps):
        batch = draw_batch(graph, subject.seed + step)
        program.fetch(program.train_step(program.load(batch)))
        reference.train_step(reference.load(batch))
    return program.parameters(), reference.parameters()


_STATISTICS_TOLERANCE = 1e-6
"""A framework may keep its running statistics scaled, which rounds them twice."""


def require_same_parameters(program: Program, graph: Graph, start: Mapping[str, Array]) -> None:
    """Fail unless ``parameters()`` returns what ``build`` was given.

    Raises
    ------
    CheckFailed
        With the names of those that differ.
    """
    found = program.parameters()
    if set(found) != set(start):
        raise CheckFailed(f"parameters() must name {sorted(start)}, got {sorted(found)}")
    wrong = [n for n, array in start.items() if not _same(found[n], array, n in graph.statistics)]
    if wrong:
        raise CheckFailed(
            f"parameters() must return what build was given, bit for bit, in the graph's layout and float32; "
            f"it did not for {', '.join(wrong[:5])}"
        )


def _same(found: Array, expected: Array, nearly: bool) -> bool:
    # Integers and truth values may come as real numbers too.
    if (found.dtype != np.float32 and expected.dtype.kind == "f") or found.shape != expected.shape:
        return False
    if nearly:
        return np.allclose(found, expected, rtol=_STATISTICS_TOLERANCE, atol=0.0)
    return np.array_equal(found, expected)
