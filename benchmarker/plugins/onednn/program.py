"""A program of oneDNN: primitives one after the other, all of their memory there before the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph, walk
from benchmarker.plugins.onednn.library import Handle, Library
from benchmarker.plugins.onednn.plan import Plan
from benchmarker.plugins.onednn.recurrent import RecurrentOperators
from benchmarker.plugins.onednn.values import Value, View

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class OnednnProgram(Program):
    """Primitives. Outputs are in the same memory after each step, so those of one are there until the next."""

    def __init__(
        self, graph: Graph, parameters: Mapping[str, Array], library: Library, *, best: bool
    ) -> None:
        self._library = library
        self._constants = {p.name: np.array(parameters[p.name], np.float32) for p in graph.parameters}
        shapes = {declared.name: declared.type.shape for declared in graph.inputs}
        self._inputs = {name: Value(library, shape) for name, shape in shapes.items()}
        held = {name: Value(library, a.shape, a) for name, a in self._constants.items()}
        values = {**self._inputs, **held}
        plan = Plan(library, best=best)
        uses = Counter(name for node in graph.nodes for name in node.inputs)
        for name, value in values.items():
            if uses[name] != 1 or name in graph.outputs:
                value.place(View(value.shape), plan.exactly(View(value.shape)))
        known = walk(graph, RecurrentOperators(plan), values)
        self._weights = [_filled(value) for value in held.values() if value.memory is not None]
        self._outputs = tuple(known[name] for name in graph.outputs)
        self._steps = tuple(plan.steps)
        self._bound: Any = None

    def load(self, batch: Mapping[str, Array]) -> dict[str, Handle]:
        """Copy the mini-batch to where the primitives want it, in their layout."""
        return {name: value.sent(batch[name]) for name, value in self._inputs.items()}

    def infer(self, batch: Mapping[str, Handle]) -> tuple[Value, ...]:
        if batch is not self._bound:
            for name, memory in batch.items():
                self._inputs[name].lies_at(memory)
            self._bound = batch
        for step in self._steps:
            step()
        return self._outputs

    def fetch(self, output: tuple[Value, ...]) -> tuple[Array, ...]:
        return tuple(value.fetched() for value in output)

    def synchronize(self, output: Any) -> None:
        self._library.wait()

    def parameters(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self._constants.items()}


def _filled(value: Value) -> Handle:
    """Let a parameter's memory hold its elements; return what must be kept."""
    assert value.constant is not None
    memory = value.sent(value.constant)
    value.lies_at(memory)
    return memory
