"""The exchange of a network with dropout, by a program beside the one that trains that is given its masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data import values
from benchmarker.graph.transformations.dropout_masks import with_given_masks
from benchmarker.worker.job import RankJob
from benchmarker.worker.ranks.follow import Follower
from benchmarker.worker.ranks.prepare import Rank
from benchmarker.worker.verification.verdicts import TensorVerdict

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.graph.graph import Graph

    Arrays = dict[str, npt.NDArray[Any]]


def steps_with_given_masks(job: RankJob, rank: Rank) -> list[TensorVerdict]:
    """Follow the first steps of the problem with masks that are part of the mini-batch.

    A server has one model alone, which is that of the steps to be timed; and micro-batches would part masks that
    do not go by samples.
    """
    if rank.is_served or job.micro_batch is not None:
        return []
    graph = with_given_masks(rank.prepared.built)
    if graph.inputs == rank.prepared.built.inputs:
        return []
    beside = rank.with_graph(with_given_masks)
    follower = Follower(beside, job.optimizer, job.precision)
    found: list[TensorVerdict] = []
    for number in range(rank.scheme.proof_steps):
        batch = {**rank.prepared.feed.batch_of(number), **_masks(job, rank.prepared.built, graph, number)}
        _, tensors = follower.step(batch, partial(beside.view.train_step, beside.view.load(batch)))
        found += [replace(t, name=f"{t.name}, step {number + 1} with given masks") for t in tensors]
    if rank.over_mpi is not None and beside.over_mpi is not None:
        # What is given to collectives is counted together.
        rank.over_mpi.made += beside.over_mpi.made
    return found


def _masks(job: RankJob, without: Graph, graph: Graph, step: int) -> Mapping[str, Any]:
    """Return the masks of all ranks, one after the other, as mini-batches are parted."""
    known = {declared.name for declared in without.inputs}
    return {
        mask.name: np.concatenate(
            [
                values.draw(job.seed, f"step {step}/rank {rank}/{mask.name}", mask.type, mask.distribution)
                for rank in range(job.world.size)
            ]
        )
        for mask in graph.inputs
        if mask.name not in known
    }
