"""Frameworks whose times are known: each call takes as long as it is told to, and tells how long it really took."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.program import NumpyProgram

WAKING_NS = 2_000_000
"""Who sleeps wakes up so much later at times; the rest of a wait is spent awake, so that it lasts as long as asked."""


@dataclass(frozen=True)
class Options:
    """What a call does beside the arithmetic.

    Parameters
    ----------
    wait_ms : float
        How long it lasts at least.
    asleep : bool
        Whether it sleeps meanwhile, or keeps a core busy.
    compile_at : int
        Which call compiles first, counted from 1; 0 for none.
    compile_ms : int
        How long that takes.
    counted : bool
        Whether compilations are told.
    drops : str
        What an over-eager compiler leaves out because nobody looks at it: the ``update`` of a step, or the
        whole ``forward`` pass.
    """

    wait_ms: float = 0.0
    asleep: bool = False
    compile_at: int = 0
    compile_ms: int = 0
    counted: bool = True
    drops: str = "nothing"


def _plugin(name: str) -> FrameworkPlugin:
    return FrameworkPlugin(name, "numpy", ("numpy",), implementation=f"clockwork_framework:{name.title()}")


class OnTime:
    """Times as its options say."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return replace(_plugin("clockwork"), options=Options)


class AsQueued:
    """Works behind the caller's back, and ``synchronize`` waits for it."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return _plugin("queued")


class AsHasty:
    """Works behind the caller's back, and ``synchronize`` does not wait."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return _plugin("hasty")


class AsLazy:
    """Works only when somebody looks at a result."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return _plugin("lazy")


class TimedProgram(NumpyProgram):
    """NumPy's program in calls of known times."""

    options: Options
    taken_ns: list[int]
    collected: list[bool]

    def infer(self, batch: Any) -> Any:
        if self.options.drops == "forward":
            return self._timed(lambda: self._stale(batch))
        return self._timed(lambda: NumpyProgram.infer(self, batch))

    def train_step(self, batch: Any) -> Any:
        if self.options.drops == "update":
            return self._timed(lambda: NumpyProgram.half_step(self, batch)[0])
        return self._timed(lambda: NumpyProgram.train_step(self, batch))

    def compilations(self) -> int | None:
        if not self.options.counted:
            return None
        return int(0 < self.options.compile_at <= len(self.taken_ns))

    def _stale(self, batch: Any) -> Any:
        return tuple(output * 0 for output in NumpyProgram.infer(self, batch))

    def _timed(self, work: Callable[[], Any]) -> Any:
        start = time.perf_counter_ns()
        output = work()
        if len(self.taken_ns) + 1 == self.options.compile_at:
            time.sleep(self.options.compile_ms / 1e3)
        end = start + int(self.options.wait_ms * 1e6)
        if self.options.asleep:
            time.sleep(max(end - time.perf_counter_ns() - WAKING_NS, 0) / 1e9)
        while time.perf_counter_ns() < end:
            pass
        self.taken_ns.append(time.perf_counter_ns() - start)
        self.collected.append(gc.isenabled())
        return output


class Clockwork(NumpyFramework):
    """Tells, as versions of libraries, how long each call of its program took, and if garbage was collected."""

    _first: TimedProgram | None = None

    def build(self, *arguments: Any, **settings: Any) -> Any:
        program: Any = super().build(*arguments, **settings)
        program.__class__, program.options = TimedProgram, settings["options"]
        program.taken_ns, program.collected = [], []
        self._first = self._first or program
        return program

    def libraries(self) -> dict[str, str]:
        first = self._first
        return {
            "taken_ns": json.dumps(first.taken_ns if first else []),
            "collected": json.dumps(first.collected if first else []),
        }


class QueuedProgram(NumpyProgram):
    """A thread does the work; a result is a list that it will have been put into."""

    _working: threading.Thread | None = None

    def infer(self, batch: Any) -> Any:
        return self.queue(lambda: NumpyProgram.infer(self, batch))

    def train_step(self, batch: Any) -> Any:
        return self.queue(lambda: NumpyProgram.train_step(self, batch))

    def train_parts(self, batch: Any) -> Any:
        self.finish()
        for name, output in super().train_parts(batch):
            yield name, [output]

    def queue(self, work: Callable[[], Any]) -> list[Any]:
        self.finish()
        result: list[Any] = []
        self._working = threading.Thread(target=lambda: result.append(work()))
        self._working.start()
        return result

    def finish(self) -> None:
        if self._working is not None:
            self._working.join()

    def synchronize(self, output: Any) -> None:
        self.finish()

    def gradients(self, batch: Any) -> Any:
        self.finish()
        return super().gradients(batch)

    def parameters(self) -> Any:
        self.finish()
        return super().parameters()

    def fetch(self, output: Any) -> Any:
        self.finish()
        return super().fetch(output[0])


class HastyProgram(QueuedProgram):
    """The same with the fault."""

    def synchronize(self, output: Any) -> None:
        return None


class LazyProgram(QueuedProgram):
    """Keeps what is to be done until a result is looked at."""

    _undone: Any = ()

    def queue(self, work: Callable[[], Any]) -> list[Any]:
        result: list[Any] = []
        self._undone = [*self._undone, (result, work)]
        return result

    def finish(self) -> None:
        undone, self._undone = self._undone, []
        for result, work in undone:
            result.append(work())

    def synchronize(self, output: Any) -> None:
        return None


class Queued(NumpyFramework):
    """The right one."""

    program: type[NumpyProgram] = QueuedProgram

    def build(self, *arguments: Any, **settings: Any) -> Any:
        program = super().build(*arguments, **settings)
        program.__class__ = self.program
        return program


class Hasty(Queued):
    """Does not wait."""

    program = HastyProgram


class Lazy(Queued):
    """Does nothing until it must."""

    program = LazyProgram
