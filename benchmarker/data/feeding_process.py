"""Mini-batches made by a process beside the step: what starts it, takes them from it and ends it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from benchmarker.data.shared_slots import SharedSlots, layout_of, shared_file
from benchmarker.data.training_batches import TrainingBatches
from benchmarker.errors import BenchmarkerError, UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

CHILD = Path(__file__).with_name("feeding_child.py")
FREE_SLOT = b"+"
"""What the process is told of each slot that it may fill."""


class FeedingError(BenchmarkerError):
    """The process that makes mini-batches failed."""


class ProcessSource:
    """Takes mini-batches from a process of this interpreter that has NumPy and this package, but no framework.

    It is a process of its own and no copy of this one: a framework's threads and a device's driver do not outlive a
    copy. It ends with this one, however that ends, as it reads from it.

    Parameters
    ----------
    batches : TrainingBatches
        With their spec.
    start : int
        Number of the first.
    count : int or None
        How many; None for no end.
    depth : int
        How many are made ahead at most.
    """

    def __init__(self, batches: TrainingBatches, start: int, count: Optional[int], depth: int) -> None:
        assert batches.spec is not None
        first = batches.indices(0)
        layout = layout_of({**batches.made(first, 0), "": first})
        self._slots = SharedSlots(layout, depth)
        self._depth = depth
        self._taken = 0
        message = {
            "spec": batches.spec.to_json(),
            "layout": layout,
            "slots": depth,
            "start": start,
            "count": count,
        }
        descriptor = shared_file(self._slots.bytes)
        try:
            self._slots.map(descriptor)
            self._process = _started(descriptor)
        finally:
            os.close(descriptor)
        self._end = weakref.finalize(self, _ended, self._process)
        self._tell(json.dumps(message).encode() + b"\n" + FREE_SLOT * depth)

    def _tell(self, what: bytes) -> None:
        assert self._process.stdin is not None
        # It may have made all of them already, or have failed, which it tells by itself.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(what)
            self._process.stdin.flush()

    def take(self) -> Arrays:
        """Wait for the next one.

        Raises
        ------
        UsageError
            If the process found that something does not fit.
        FeedingError
            If it failed otherwise.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise FeedingError(
                f"the process that makes mini-batches ended with exit status {self._process.returncode}"
            )
        reply = json.loads(line)
        if "error" in reply:
            self.close()
            kind = UsageError if reply["usage"] else FeedingError
            raise kind(reply["error"])
        found = self._slots.read(self._taken % self._depth, reply["rows"])
        self._taken += 1
        self._tell(FREE_SLOT)
        return found

    def close(self) -> None:
        """End the process, and wait for it."""
        self._end()
        self._slots.close()


def _started(descriptor: int) -> subprocess.Popen[bytes]:
    package = str(CHILD.parent.parent)
    return subprocess.Popen(
        [sys.executable, "-s", str(CHILD), str(descriptor), package],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(descriptor,),
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Kill it, which has nothing to lose, unless it has ended by itself."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            # What was not flushed is for nobody any more.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
