"""Telling a backend's profiler which node of the graph, or the update, an operation belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from benchmarker.quick_dataclass import dataclass

_REPLACED = ("lines", "calls", "predict_function", "train_function")
"""What of a model has another value while it is marked."""


@dataclass(frozen=True)
class Marks:
    """How a backend's profiler is told.

    Parameters
    ----------
    node : callable
        Number and name of a node to the context in which it is called.
    update : callable
        To the context in which the optimizer moves the parameters.
    """

    node: Callable[[int, str], AbstractContextManager[Any]]
    update: Callable[[], AbstractContextManager[Any]]


@contextmanager
def marked(model: Any, marks: Marks) -> Iterator[None]:
    """Have what is traced or run of a model meanwhile tell of nodes and update; what is timed stays as it was.

    Parameters
    ----------
    model : keras.Model
        As :func:`~benchmarker.plugins.keras.model.make_model` returns it, compiled.
    marks : Marks
        Of its backend.
    """
    kept = {name: getattr(model, name) for name in _REPLACED}
    apply = model.optimizer.apply

    def marked_apply(*arguments: Any) -> None:
        with marks.update():
            apply(*arguments)

    model.lines, model.optimizer.apply = model.lines.marked(marks), marked_apply
    model.make_predict_function(force=True)
    model.make_train_function(force=True)
    try:
        yield
    finally:
        del model.optimizer.apply
        for name, value in kept.items():
            setattr(model, name, value)
