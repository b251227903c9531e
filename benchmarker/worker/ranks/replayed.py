"""The proof of schemes whose updates come in no fixed order: the server's log, made again in one process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.native_scheme import ServerAgain
from benchmarker.api.scheme import Update
from benchmarker.data.values import part_of
from benchmarker.worker.job import RankJob
from benchmarker.worker.ranks.alone import Alone
from benchmarker.worker.ranks.flat import Layout
from benchmarker.worker.ranks.follow import moved
from benchmarker.worker.ranks.over_mpi import Trained
from benchmarker.worker.ranks.prepare import Rank
from benchmarker.worker.verification.findings import Check, check_of, left_out

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

REPLAY = "replay of the server's log"
SERVED = "server.npz"
"""What the server leaves in the folder of all ranks."""
MAX_REPLAYED = 60
"""Updates from the first one on that are made again."""
MAX_SHARE = 1e-4
"""Of the way from the start, that a replay may be off by where a framework does not repeat its steps bit for bit."""


def replay_check(job: RankJob, rank: Rank) -> Check:
    """End the scheme's steps, and make its first updates again on rank 0.

    No step may follow.
    """
    rank.end()
    if not (rank.group.folder / SERVED).exists():
        return left_out(REPLAY, "the framework keeps no log of the weights at which each gradient was taken")
    if "dropout" in rank.prepared.graph.operators:
        return left_out(REPLAY, "the framework draws its own dropout masks")
    if rank.group.rank:
        return left_out(REPLAY, "rank 0 makes it")
    with np.load(rank.group.folder / SERVED, allow_pickle=False) as stored, rank.group.working():
        return _replayed(job, rank, dict(stored))


def _replayed(job: RankJob, rank: Rank, served: Mapping[str, Array]) -> Check:
    from benchmarker.distributed.replay import log_fault, replay

    prepared = rank.prepared
    layout = Layout(prepared.built)
    dtype, weights = served["weights"].dtype, served["weights"]
    again = rank.view.server_again() if rank.over_mpi is None else None
    if again is not None:
        weights = layout.vector(again.parameters(weights), dtype)
    start = layout.vector(prepared.parameters, dtype)
    log = [Update(*map(int, row)) for row in served["log"]][: int(served["updates"])]
    fault = log_fault(log)
    if fault is not None:
        return check_of(REPLAY, [fault], "")
    alone, counted = Alone(prepared, rank.micro_batch), prepared.built.counted

    def gradient(worker: int, step: int, weights: Array) -> Array:
        batch = part_of(prepared.feed.batch_of(step), worker, rank.group.size, counted)
        return alone.gradient(alone.load(batch), weights)

    updates = _Updates(job, rank, dtype, again)
    found = replay(log, start, gradient, updates)
    if updates.fault is not None:
        return check_of(REPLAY, [updates.fault], "")
    return _compared(found, weights, start, len(log))


class _Updates:
    """The server's updates made again: by the rule, or by a framework's own means, each then held to the rule.

    Attributes
    ----------
    fault : str or None
        The first of the framework's that did something else.
    """

    def __init__(self, job: RankJob, rank: Rank, dtype: Any, again: ServerAgain | None) -> None:
        self._trained = Trained(rank.prepared.built, job.optimizer, rank.prepared.parameters, dtype)
        self._replica = self._trained.replica()
        self._again = again
        self._precision = job.precision
        self._made = 0
        self.fault: str | None = None

    def __call__(self, weights: Array, gradient: Array) -> Array:
        self._trained.weights[...] = weights
        native = None if self._again is None else self._again.update(weights, gradient)
        self._replica.update(gradient)
        expected: Array = self._trained.weights.copy()
        self._made += 1
        if native is None:
            return expected
        before, after, wanted = (array.astype(np.float64) for array in (weights, native, expected))
        seen = moved("weights", expected.size, before, after, wanted, self._precision)
        if not seen.passed and self.fault is None:
            off = f"{seen.norm_error:.3g} of its length, {seen.norm_tolerance:.3g} allowed"
            self.fault = f"update {self._made} is off by {off}"
        return native


def _compared(found: Array, served: Array, start: Array, updates: int) -> Check:
    if np.array_equal(found, served):
        return check_of(REPLAY, [], f"the same bits after {updates} updates")
    way = float(np.linalg.norm(served.astype(np.float64) - start))
    off = float(np.linalg.norm(found.astype(np.float64) - served)) / max(way, float(np.finfo(float).tiny))
    words = f"{updates} updates made again are off by {off:.3g} of the distance from the start"
    return check_of(REPLAY, [words] if not off <= MAX_SHARE else [], words)


def save_served(folder: Path, log: list[Update], weights: Array) -> None:
    """Leave what a replay needs: the updates, and the weights after the first of them.

    Parameters
    ----------
    folder : Path
        Of all ranks.
    log : list of Update
        Those that led to the weights.
    weights : vector
        After all of these.
    """
    rows = np.array([(one.worker, one.step, one.read) for one in log], np.int64).reshape(-1, 3)
    with open(folder / SERVED, "wb") as stream:
        np.savez(stream, log=rows, weights=weights, updates=np.int64(len(log)))
