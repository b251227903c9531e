"""The stages of a run, each timed apart and announced as it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarker.worker.channel import Channel


class Stages:
    """Seconds of each stage, and which one is running.

    Attributes
    ----------
    seconds : dict
        By name of the stage.
    current : str
        The stage that is running, or the last one.
    out_of_memory_signs : tuple of str
        What the framework says when memory runs out; known once it is imported.
    count_compilations : callable
        Returns how often the program has been compiled so far, None if that is not told; known once it is built.
    compilations : dict
        Number of compilations of each stage that had any.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.seconds: dict[str, float] = {}
        self.current = "start"
        self.out_of_memory_signs: tuple[str, ...] = ()
        self.count_compilations: Callable[[], int | None] = lambda: None
        self.compilations: dict[str, int] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce a stage and time what happens in it."""
        self.current = name
        self._channel.send("stage", name=name)
        before = self.count_compilations()
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        after = self.count_compilations()
        if before is not None and after is not None and after > before:
            self.compilations[name] = self.compilations.get(name, 0) + after - before
