"""Feeding a training: mini-batches one after the other, made where they are taken, in a thread or in a process beside.

All three ways give the same bytes in the same order; what they differ in is how long the step waits, which is measured.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

import numpy as np

from benchmarker.data.samplers import ClassBias, class_bias
from benchmarker.data.training_batches import TrainingBatches
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]

PREFETCH = ("none", "thread", "process")
"""Where mini-batches are made: as they are taken, in a thread of this process, in a process of their own."""


@dataclass(frozen=True, eq=False)
class FedBatch:
    """A mini-batch as a step takes it.

    Parameters
    ----------
    number, epoch : int
        Which one it is and in which epoch, both from 0.
    arrays : dict
        The problem's inputs, in memory that nothing else writes to.
    indices : array ``(count,)``
        int64 indices of its samples in the data set.
    waited_seconds : float
        How long it was waited for.
    """

    number: int
    epoch: int
    arrays: Arrays
    indices: Array
    waited_seconds: float


class BatchSource(Protocol):
    """What makes the mini-batches from a number on."""

    def take(self) -> Arrays:
        """Return the next one; its member ``""`` has the indices of the samples."""

    def close(self) -> None:
        """End it; a second time does nothing."""


class TrainingFeed:
    """Mini-batches in their order; to be closed, or used in a ``with`` block.

    Parameters
    ----------
    batches : TrainingBatches
        The mini-batches; for ``process`` with their ``spec``, of which the process makes the same.
    start : int
        Number of the first.
    count : int or None
        How many; None for no end.
    prefetch : {"none", "thread", "process"}
        Where they are made.
    depth : int
        How many are made ahead at most.

    Raises
    ------
    UsageError
        If there is no such way, or mini-batches that no spec tells are to come from a process.

    Attributes
    ----------
    start, prefetch : int, str
        As given.
    depth : int
        How many are made ahead at most; 0 where they are made as they are taken.
    """

    def __init__(
        self,
        batches: TrainingBatches,
        *,
        start: int = 0,
        count: Optional[int] = None,
        prefetch: str = "none",
        depth: int = 2,
    ) -> None:
        if depth < 1:
            raise UsageError(f"at least 1 mini-batch must be made ahead, got {depth}")
        self._batches = batches
        self.start, self.prefetch, self.depth = start, prefetch, depth if prefetch != "none" else 0
        self._next = start
        self._left = count
        self._given = np.zeros(batches.augmenter.data.classes, np.int64)
        self._closed = False
        self.waits: list[float] = []
        """Seconds that each mini-batch was waited for."""
        self._source = _source(batches, start, count, prefetch, depth)

    def __iter__(self) -> TrainingFeed:
        return self

    def __next__(self) -> FedBatch:
        """Return the next mini-batch.

        Raises
        ------
        BenchmarkerError
            If the process that makes them failed; what goes wrong in a thread comes out as it is.
        """
        if self._left == 0:
            self.close()
        if self._closed:
            raise StopIteration
        began = time.perf_counter()
        arrays = self._source.take()
        waited = time.perf_counter() - began
        indices = arrays.pop("")
        self.waits.append(waited)
        self._count(indices)
        number, self._next = self._next, self._next + 1
        self._left = None if self._left is None else self._left - 1
        return FedBatch(number, self._batches.epoch(number), arrays, indices, waited)

    def _count(self, indices: Array) -> None:
        self._given += np.bincount(self._batches.augmenter.data.labels[indices], minlength=len(self._given))

    @property
    def bias(self) -> ClassBias:
        """Classes of the samples that were given, against those of the training part."""
        augmenter = self._batches.augmenter
        available = augmenter.data.labels[augmenter.population]
        return ClassBias(
            tuple(self._given.tolist()), class_bias(available, available, len(self._given)).available
        )

    def close(self) -> None:
        """End the thread or the process, after which there is no mini-batch more; a second time does nothing."""
        self._closed = True
        self._source.close()

    def __enter__(self) -> TrainingFeed:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def _source(
    batches: TrainingBatches, start: int, count: Optional[int], prefetch: str, depth: int
) -> BatchSource:
    if prefetch == "none":
        return DirectSource(batches, start)
    if prefetch == "thread":
        return ThreadSource(batches, start, count, depth)
    if prefetch != "process":
        raise UsageError(f"prefetch must be one of {', '.join(PREFETCH)}, got '{prefetch}'")
    if batches.spec is None:
        raise UsageError("a process can make mini-batches only from their spec; use prefetch 'thread'")
    from benchmarker.data.feeding_process import ProcessSource

    return ProcessSource(batches, start, count, depth)


def made_batch(batches: TrainingBatches, number: int) -> Arrays:
    """Return a mini-batch with the indices of its samples as the member ``""``."""
    return {**batches.batch(number), "": batches.indices(number)}


class DirectSource:
    """Makes each mini-batch when it is taken."""

    def __init__(self, batches: TrainingBatches, start: int) -> None:
        self._batches = batches
        self._next = start

    def take(self) -> Arrays:
        """Make the next one."""
        number, self._next = self._next, self._next + 1
        return made_batch(self._batches, number)

    def close(self) -> None:
        """There is nothing to end."""


class ThreadSource:
    """Makes mini-batches in a thread; what goes wrong there comes out where the mini-batch is taken."""

    def __init__(self, batches: TrainingBatches, start: int, count: Optional[int], depth: int) -> None:
        self._batches = batches
        self._made: deque[Union[Arrays, BaseException]] = deque()
        self._ready = threading.Semaphore(0)
        self._free = threading.Semaphore(depth)
        self._closed = False
        self._thread = threading.Thread(target=self._make, args=(start, count), daemon=True)
        self._thread.start()

    def _make(self, number: int, count: Optional[int]) -> None:
        end = None if count is None else number + count
        while number != end:
            self._free.acquire()
            if self._closed:
                return
            try:
                self._made.append(made_batch(self._batches, number))
            except BaseException as error:
                self._made.append(error)
                self._ready.release()
                return
            self._ready.release()
            number += 1

    def take(self) -> Arrays:
        """Wait for the next one."""
        self._ready.acquire()
        found = self._made.popleft()
        if isinstance(found, BaseException):
            self._made.append(found)
            self._ready.release()
            raise found
        self._free.release()
        return found

    def close(self) -> None:
        """Have the thread end, and wait for it."""
        self._closed = True
        self._free.release()
        self._thread.join()
