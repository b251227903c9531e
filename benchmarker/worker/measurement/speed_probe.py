"""A probe of the machine's own speed: a little known work of three kinds, outside of timed samples.

It needs no framework. The arithmetic is a digest of as many bytes as lie in the first-level cache, so that it tells of
clock and cores and leaves the caches of what is measured alone; the memory traffic is a copy, and the interpreter's
work makes objects, calls methods and fills a dictionary, both at both ends alone, since they do not.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Any

ARITHMETIC_BYTES = 16 << 10
MEMORY_BYTES = 8 << 20
REPEATS, MEMORY_REPEATS = 3, 16
"""The quickest of so many counts: the first finds caches that hold something else. Copies vary more than arithmetic: on
an idle virtual machine by half from one to the next, the quickest of sixteen by a tenth."""
INTERPRETER_ROUNDS = 500
INTERVAL_SECONDS = 0.2
"""A probe of some ten microseconds between samples, at most so often, is far less than 0.5 % of the time."""


class _Pair:
    def __init__(self, first: int, second: int) -> None:
        self.first = first
        self.second = second

    def swapped(self) -> _Pair:
        return _Pair(self.second, self.first)


def _statements() -> None:
    """Do what the Python of a framework does most: attributes, calls, and objects that live shortly."""
    pair, seen = _Pair(0, 1), dict[int, list[int]]()
    for number in range(INTERPRETER_ROUNDS):
        pair = pair.swapped()
        seen[number % 7] = [pair.first, *seen.get(pair.second, ())][:3]


class SpeedProbe:
    """Times known work at both ends of the timed part and between its samples.

    Parameters
    ----------
    clock : callable
        Nanoseconds, monotonic.
    """

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._data = bytes(range(256)) * (ARITHMETIC_BYTES // 256)
        self._arithmetic: list[int] = []
        self._memory: list[int] = []
        self._interpreter: list[int] = []
        self._next = 0

    def at_end(self) -> None:
        """Probe arithmetic, memory and the interpreter, which takes some milliseconds."""
        self._probe_arithmetic()
        source, target = bytearray(MEMORY_BYTES), bytearray(MEMORY_BYTES)

        def copy() -> None:
            target[:] = source

        self._memory.append(self._quickest(copy, MEMORY_REPEATS))
        self._interpreter.append(self._quickest(_statements))

    def between(self) -> None:
        """Probe arithmetic if the last time is long enough ago."""
        if self._clock() >= self._next:
            self._probe_arithmetic()

    def to_json(self) -> dict[str, Any]:
        """Return what was found: the middle, the slowest, and how many; seconds."""
        digest = f"sha256 of {ARITHMETIC_BYTES >> 10} KiB, Python {platform.python_version()}"
        return {
            "kernel": f"{digest}; {MEMORY_REPEATS} copies of {MEMORY_BYTES >> 20} MiB",
            "probes": len(self._arithmetic),
            "arithmetic_seconds": median(self._arithmetic) / 1e9,
            "arithmetic_slowest_seconds": max(self._arithmetic) / 1e9,
            "memory_seconds": median(self._memory) / 1e9,
            "interpreter_seconds": median(self._interpreter) / 1e9,
        }

    def _probe_arithmetic(self) -> None:
        self._arithmetic.append(self._quickest(lambda: hashlib.sha256(self._data)))
        self._next = self._clock() + int(INTERVAL_SECONDS * 1e9)

    def _quickest(self, work: Callable[[], object], repeats: int = REPEATS) -> int:
        taken = []
        for _ in range(repeats):
            start = self._clock()
            work()
            taken.append(self._clock() - start)
        return min(taken)
