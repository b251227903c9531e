"""A run of several ranks: who took part, what they exchanged, and where the time of a step went."""

from typing import Any, Literal

import msgspec

from benchmarker.records.schema.kinds import (
    ByteCount,
    Count,
    Fraction,
    Group,
    NonNegative,
    Positive,
    Ratio,
    Seconds,
    Text,
)


class RankNetwork(Group, frozen=True, kw_only=True):
    """What ranks reached each other by."""

    kind: Literal["shared", "counted", "emulated"]
    """'shared': that of the machine, or its memory; 'counted': a network namespace of the run, whose interface counts
    bytes; 'emulated': a namespace for each rank and links of a stated rate between them."""
    rate: Text | None
    """Of an emulated network, as it was asked for."""
    reason: Text | None
    """Why no bytes could be counted; null if they were."""


class PartSpan(Group, frozen=True, kw_only=True):
    """A part of a step on a rank, as it happened."""

    step: Count
    """Of those that were made in their parts after the timed part, from 0."""
    part: Text
    """As in ``part_seconds``."""
    began_seconds: Seconds
    """Since the first part of any rank began, in seconds; all ranks by the same clock."""
    seconds: Seconds
    """How long it took, in seconds."""


class RankMember(Group, frozen=True, kw_only=True):
    """One rank."""

    rank: Count
    """Its number, from 0."""
    cpus: list[Count]
    """CPUs that it could use."""
    step_seconds: Seconds | None
    """Median of its own steps, in seconds."""
    part_seconds: dict[str, Seconds]
    """Medians of the parts of its further steps, in seconds: 'compute' is the way forward and backward made by all
    ranks at once without an exchange; where ranks exchange over MPI, also those of a whole step."""
    part_spans: list[PartSpan] = msgspec.field(default_factory=list)
    """Of the first of these steps, when each part began; absent where they were not made in parts, or ranks on several
    machines have no clock in common."""
    report: dict[str, Any]
    """What the scheme tells of its steps."""
    node: Count | None = None
    """Which node of an allocation it ran on, numbered from 0 as ranks come; absent where no engine placed it."""


class Volume(Group, frozen=True, kw_only=True):
    """Bytes of a step."""

    expected_bytes: NonNegative
    """Bytes that all ranks send together, by the formula of the scheme or of the collective."""
    logical_bytes: dict[str, NonNegative] | None
    """That rank 0 gives to each kind of collective; null if the framework does not tell."""
    wire_bytes: NonNegative | None
    """Bytes that the interfaces of the run counted in the timed part, of all ranks together and in one direction,
    headers included; null if they could not be counted."""
    findings: list[Text]
    """Where these contradict each other, in words."""


class StepParts(Group, frozen=True, kw_only=True):
    """Where the time of a step goes, in seconds: medians over steps made in their parts after the timed part."""

    compute_seconds: Seconds | None
    """Forward and backward on the slowest rank, all of them at work, in seconds."""
    exchange_seconds: Seconds | None
    """Exchange and update once the last rank had reached it, in seconds; null where the framework does not tell them
    apart."""
    waiting_seconds: Seconds | None
    """That ranks waited for the last one to come to the exchange, on average, in seconds."""
    exchange_alone_seconds: Seconds | None
    """The framework's own all-reduce of as many bytes by itself, on the slowest rank, in seconds; null where ranks do
    not exchange by it."""
    overlap: Fraction | None
    """Share of that all-reduce that a step hides behind computing: what computing and it take together beyond the step,
    over it; null where computing took longer than the step."""


class Collective(Group, frozen=True, kw_only=True):
    """A collective as a benchmark of its own: what ranks exchange in a step; absent in trainings."""

    kind: Literal["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "point_to_point"]
    """What is exchanged."""
    elements: Positive
    """Of the whole vector: what each rank has after an all-gather, what each gives to all others, what one message
    is."""
    bytes: ByteCount
    """Of the whole vector."""
    messages: Positive
    """Vectors that a step carries one after the other: 1 of a collective, 2 of a message and its answer, as many as
    are on their way at once between two ranks otherwise."""
    bus_factor: Ratio
    """Bus bandwidth over algorithmic bandwidth, as nccl-tests defines it: 2(p-1)/p of an all-reduce, (p-1)/p of an
    all-gather, reduce-scatter and all-to-all, 1 of all others."""


class Distributed(Group, frozen=True, kw_only=True):
    """A run of several ranks; null for one of a single process (since 1.8). The step of such a run is that of its
    slowest rank."""

    ranks: Positive
    """Processes that train together."""
    rows: Positive
    """Of the mini-batch, that each rank has."""
    scheme: Text | None
    """With its constant; null of a collective by itself."""
    exchange: Literal["native", "mpi"]
    """Who exchanged: the framework, or MPI between its gradients and an update in NumPy."""
    means: Text
    """What exchanged, in words."""
    scaling: Literal["strong", "weak"] | None
    """'strong': the ranks share the mini-batch; 'weak': it has grown with them; null of a collective by itself."""
    batch_normalization: Literal["local", "global"] | None
    """Whether its statistics are of a rank's rows or of the whole mini-batch; null where there is none."""
    loss: Literal["local", "global"] | None = None
    """Whether a loss that is a mean over something other than samples, such as masked words, is the mean of the ranks'
    own means or that of the whole mini-batch; absent where both are the same."""
    network: RankNetwork
    rendezvous_seconds: Seconds | None
    """Until all ranks had met, imports not included, in seconds: of the slowest."""
    import_wait_seconds: Seconds | None
    """That the quickest rank waited for the imports of the others, in seconds."""
    skew_seconds: Seconds | None
    """Between the quickest and the slowest rank in a step, in the median, in seconds."""
    members: list[RankMember]
    """What each rank has told; empty if the run came to no good end."""
    volume: Volume | None
    parts: StepParts | None
    staleness: dict[str, Count] | None
    """How many updates were made of gradients that were so many versions old; null where no server tells."""
    server_updates: Count | None
    """How many updates the scheme's server made; null where there is none."""
    parameter_bytes: ByteCount
    """Bytes of all trainable parameters."""
    collective: Collective | None = None
