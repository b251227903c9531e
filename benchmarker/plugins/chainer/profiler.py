"""Chainer's function hooks as a profiler: when each function began and ended, and which node called it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.graph import Graph

_WARM = 2


def profiled(graph: Graph, make_step: Callable[[Watch], Callable[[], Any]], steps: int) -> Profile:
    """Return the profile of some steps, each a call of what ``make_step`` makes of the watch."""
    watch = Watch({node.name for node in graph.nodes})
    step = make_step(watch)
    with _hook_class()(watch):
        for _ in range(_WARM):
            step()
        watch.start()
        for _ in range(steps):
            watch.step(step)
    return Profile("chainer.FunctionHook", tuple(watch.calls), tuple(watch.steps))


class Watch:
    """Times the functions that the nodes of a straight line call, forward and backward.

    Functions that a function calls belong to it. The backward pass of a function belongs to the node that
    called it forward.

    Parameters
    ----------
    names : collection of str
        The graph's nodes.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.calls: list[Call] = []
        self.steps: list[tuple[float, float]] = []
        self._names = names
        self._node = ""
        self._node_of: dict[int, str] = {}
        self._depth = 0
        self._zero = self._began = 0.0

    def watching(self, name: str, native: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a node calls, the node noted before: of a composite's body, the composite."""
        while name not in self._names:
            name = name.rpartition("/")[0]

        def call(*tensors: Any) -> Any:
            self._node = name
            return native(*tensors)

        return call

    def start(self) -> None:
        """Forget what was seen, and begin."""
        self.calls.clear()
        self._zero = time.perf_counter()

    def step(self, step: Callable[[], Any]) -> None:
        """Run and time a step."""
        began = time.perf_counter()
        step()
        self.steps.append((began - self._zero, time.perf_counter() - began))

    def updating(self, update: Callable[[], None]) -> None:
        """Run and time the optimizer, which calls no function."""
        began = time.perf_counter()
        update()
        self._add(None, "Optimizer.update", "update", began)

    def enter(self) -> None:
        """Note that a function begins."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def leave(self, function: Any, phase: str) -> None:
        """Note that a function has ended."""
        self._depth -= 1
        if self._depth:
            return
        if phase == "forward":
            self._node_of[id(function)] = self._node
        self._add(self._node_of.get(id(function)), function.label, phase, self._began)

    def _add(self, node: str | None, native: str, phase: str, began: float) -> None:
        seconds = time.perf_counter() - began
        self.calls.append(Call(node, native, phase, began - self._zero, seconds, 0, len(self.steps)))


@functools.cache
def _hook_class() -> Any:
    """Return the class of the hook, made once because it needs Chainer."""
    from chainer import FunctionHook

    class WatchHook(FunctionHook):  # type: ignore[misc]
        """Tells a watch of each function."""

        name = "benchmarker"

        def __init__(self, watch: Watch) -> None:
            self._watch = watch

        def forward_preprocess(self, function: Any, in_data: Any) -> None:
            self._watch.enter()

        def forward_postprocess(self, function: Any, in_data: Any) -> None:
            self._watch.leave(function, "forward")

        def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            self._watch.enter()

        def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
            self._watch.leave(function, "backward")

    return WatchHook
