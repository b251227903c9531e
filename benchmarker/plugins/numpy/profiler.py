"""NumPy's profile: a clock around each node's call, forward, and around each entry of the tape, backward."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.operators import Operators
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.tape import Tape, Variable

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

SOURCE = "own clock around each call"


class Recording:
    """The calls of some steps, as they are made.

    Parameters
    ----------
    wait : callable
        Returns when what has been called is done, which NumPy's calls are when they return.
    source : str
        What clocks them.
    """

    def __init__(self, wait: Callable[[], None] = lambda: None, source: str = SOURCE) -> None:
        self._wait, self._source = wait, source
        self._zero = time.perf_counter()
        self._calls: list[Call] = []
        self._steps: list[tuple[float, float]] = []

    def profile(self) -> Profile:
        """Return what was recorded."""
        return Profile(self._source, tuple(self._calls), tuple(self._steps))

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Record a step."""
        start = time.perf_counter()
        yield
        self._wait()
        self._steps.append((start - self._zero, time.perf_counter() - start))

    @contextlib.contextmanager
    def call(self, node: str | None, native: str, phase: str) -> Iterator[None]:
        """Record a call."""
        start = time.perf_counter()
        yield
        self._wait()
        seconds = time.perf_counter() - start
        self._calls.append(Call(node, native, phase, start - self._zero, seconds, 0, len(self._steps)))

    def walk(self, graph: Graph, operators: Operators, values: Mapping[str, Any]) -> dict[str, Any]:
        """Walk as :func:`benchmarker.graph.graph.walk` does, each node's call recorded."""
        known = dict(values)
        for node in graph.nodes:
            inputs = [known[name] if name else None for name in node.inputs]
            if isinstance(operators, RecordingTape):
                operators.node = node.name
            with self.call(node.name, node.operator, "forward"):
                outputs = apply_node(node, operators, inputs)
            known.update(zip(node.outputs, outputs))
        return known


class RecordingTape(Tape):
    """A tape that records what it takes to go back through each entry.

    Parameters
    ----------
    forward : NumpyOperators
        As of :class:`Tape`.
    recording : Recording
        Takes the calls.

    Attributes
    ----------
    node : str or None
        The node whose operators are applied next.
    """

    def __init__(self, forward: NumpyOperators, recording: Recording) -> None:
        super().__init__(forward)
        self.node: str | None = None
        self._recording = recording
        self._nodes: list[str | None] = []

    def record(self, operator: str, inputs: tuple[Variable | None, ...], attributes: dict[str, Any]) -> Any:
        """Apply an operator; its entry, if there is one, is the current node's."""
        result = super().record(operator, inputs, attributes)
        self._nodes += [self.node] * (len(self._entries) - len(self._nodes))
        return result

    def backward(self, seeds: Sequence[tuple[Variable, Array]], switched: float = 0.0) -> None:
        """Go back, each entry's call recorded."""
        for variable, gradient in seeds:
            variable.accumulate(gradient)
        while self._entries:
            entry, node = self._entries.pop(), self._nodes.pop()
            with self._recording.call(node, f"{entry.operator} backward", "backward"):
                entry.backward(switched)
