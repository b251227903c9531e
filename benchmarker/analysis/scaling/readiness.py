"""When the gradients of a step are ready to be sent: the last layer's first, while the others are still computed."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.graph.cost import GraphCost
from benchmarker.quick_dataclass import dataclass

FIRST_BUCKET_BYTES = 1 << 20
BUCKET_BYTES = 25 << 20
"""Gradients are sent together from these sizes on, as DistributedDataParallel does: Li et al., PVLDB 13, 2020."""


@dataclass(frozen=True)
class Bucket:
    """Gradients that are sent together.

    Parameters
    ----------
    ready : float
        Share of the backward pass after which all of them are there.
    size : int
        Bytes.
    """

    ready: float
    size: int


def buckets_of(cost: GraphCost) -> tuple[Bucket, ...]:
    """Return the gradients of a training step in the order in which they are ready, by FLOPs of the backward pass.

    Parameters
    ----------
    cost : GraphCost
        Of a training step.
    """
    works = [node.backward_flops or node.elementwise_flops for node in cost.nodes]
    all_work, done, waiting = max(sum(works), 1), 0, 0
    value_bytes = cost.gradient_bytes // max(cost.parameter_count, 1)
    found: list[Bucket] = []
    for node, work in zip(reversed(cost.nodes), reversed(works)):
        done += work
        waiting += node.parameter_count * value_bytes
        if waiting >= (BUCKET_BYTES if found else FIRST_BUCKET_BYTES):
            found.append(Bucket(done / all_work, waiting))
            waiting = 0
    if waiting:
        found.append(Bucket(1.0, waiting))
    return tuple(found)


def backward_share(cost: GraphCost, parts: Sequence[float] | None = None) -> float:
    """Return the share of a step that its backward pass takes, which is the last part of it here.

    Parameters
    ----------
    cost : GraphCost
        Of a training step.
    parts : sequence of float, optional
        Seconds of the forward and the backward pass, where they were measured; FLOPs without them.
    """
    forward, backward = parts or (cost.forward_flops, cost.backward_flops)
    return backward / (forward + backward) if forward + backward else 2 / 3
