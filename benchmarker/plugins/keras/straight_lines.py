"""The straight lines of a graph: which Keras functions are called one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.binding_site import Setting
from benchmarker.plugins.keras.layouts import Native
from benchmarker.plugins.keras.profiler_scopes import Marks

Line = Callable[..., tuple[Any, ...]]


class Lines:
    """The straight lines of a graph, each made when it is first asked for.

    Parameters
    ----------
    graph, binding
        As in :func:`~benchmarker.plugins.keras.model.make_model`.
    weights : mapping
        Keras variable of each parameter.
    seed : keras.random.SeedGenerator
        Of dropout.
    marks : Marks or None
        Of the nodes; None leaves the lines as they are timed.
    """

    def __init__(
        self,
        graph: Graph,
        binding: Binding,
        weights: Mapping[str, Any],
        seed: Any,
        marks: Marks | None = None,
    ) -> None:
        self._graph = graph
        self._binding = binding
        self._weights = weights
        self._seed = seed
        self._marks = marks

    def marked(self, marks: Marks) -> Lines:
        """Return the same lines, their nodes called in the contexts of ``marks``."""
        return Lines(self._graph, self._binding, self._weights, self._seed, marks)

    @functools.cached_property
    def inference(self) -> Line:
        """The outputs, with the running statistics."""
        return self._line(self._binding.setting, self._graph.outputs)

    @functools.cached_property
    def training(self) -> Line:
        """The loss, or the outputs of a graph without one; statistics move and dropout drops."""
        setting = replace(self._binding.setting, training=True, updating=True, seed=self._seed)
        return self._line(setting, self._results)

    @functools.cached_property
    def frozen(self) -> Line:
        """The same with the mini-batch's statistics, but nothing moves and nothing is dropped."""
        return self._line(replace(self._binding.setting, training=True), self._results)

    @property
    def _results(self) -> tuple[str, ...]:
        return self._graph.outputs if self._graph.loss is None else (self._graph.loss,)

    def _line(self, setting: Setting, results: tuple[str, ...]) -> Line:
        binding = self._binding.bind(setting)
        if self._marks is not None:
            numbered = enumerate(self._graph.nodes)
            binding = {node.name: _within(self._marks, i, node.name, binding) for i, node in numbered}
        return straight_line(self._graph, binding, outputs=results, constants=self._weights)


def _within(marks: Marks, index: int, name: str, binding: Mapping[str, Native]) -> Native:
    native = binding[name]

    def run(*xs: Any) -> Any:
        with marks.node(index, name):
            return native(*xs)

    return run
