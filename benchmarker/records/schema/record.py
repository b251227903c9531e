"""The record of one run: the one source of the published schema."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from benchmarker.records.schema.distributed import Distributed
from benchmarker.records.schema.execution import Environment, Execution
from benchmarker.records.schema.imported import Imported
from benchmarker.records.schema.inputs import Digests, Inputs
from benchmarker.records.schema.kinds import (
    Count,
    Group,
    Number,
    Positive,
    Text,
    Timestamp,
    members,
    requires,
    since,
)
from benchmarker.records.schema.learning import Learning
from benchmarker.records.schema.metrics import Memory, Metrics, Peaks
from benchmarker.records.schema.operator import Operator
from benchmarker.records.schema.outcome import Acceptance, Error
from benchmarker.records.schema.platform import CollectorOutcome, Platform
from benchmarker.records.schema.profile import Profile
from benchmarker.records.schema.replication import Comparable, Replication
from benchmarker.records.schema.timing import Timing
from benchmarker.records.schema.training import Training
from benchmarker.records.schema.transformations import Transformations
from benchmarker.records.schema.trust import Trust
from benchmarker.records.schema.verification import Verification
from benchmarker.records.schema.versions import Version
from benchmarker.records.schema.workload import Device, Framework, Optimizer, Problem


class Record(Group, frozen=True, kw_only=True):
    """One run in one fresh process. Time is in seconds, memory in bytes; FLOPs count multiply and add as
    two. What a run does not know is null, never 0; a number that is not finite is null. The process is the
    unit of replication; a step is a sub-sample of it."""

    schema_version: Version
    """Version of this schema: major.minor."""
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{7,127}$")]
    """Unique identifier of the run."""
    status: Literal["ok", "failed", "crashed", "out_of_memory", "timeout", "interrupted"]
    """How the run ended."""
    error: Error | None
    started_at: Timestamp
    """When the run started: UTC, ISO 8601, microseconds."""
    ended_at: Timestamp | None
    """When the run ended: UTC, ISO 8601, microseconds."""
    benchmarker_version: Text
    """Version of benchmarker that made the record."""
    command: Annotated[list[str], Meta(min_length=1)]
    """Command and arguments that run it again."""
    specification: Annotated[dict[str, Any], requires("framework", "problem", "mode", "batch_size")] = since(
        "1.2"
    )
    """Everything that was asked, complete: runs with the same specification measure the same. The time
    limit is not part of it."""
    mode: Literal["inference", "training", "gradient", "generation"]
    """What a step does: 'inference' (forward), 'training' (forward, loss, backward, update), since 1.4 'gradient'
    (forward and backward) or, since 1.8, 'generation' (a prompt, and token after token with a cache)."""
    batch_size: Positive
    """Samples in a mini-batch, of all devices together."""
    precision: Text
    """Number format of the arithmetic, e.g. 'fp32', 'bf16'."""
    seed: int | None
    """Seed of weights and mini-batches; null in an imported record."""
    repetition: Count
    """Which of the fresh processes of the same configuration, from 0."""
    framework: Framework
    problem: Problem
    optimizer: Optimizer | None
    device: Device
    execution: Execution
    platform: Annotated[dict[str, Any], members(Platform)]
    collectors: dict[str, CollectorOutcome]
    """How each collector fared, by its name."""
    environment: Environment
    digests: Digests
    inputs: Inputs = since("1.2")
    timing: Timing
    metrics: Annotated[dict[str, Number | None], members(Metrics)]
    imported: Imported | None = None
    learning: Learning | None = since("1.3")
    operator: Operator | None = since("1.4")
    profile: Profile | None = since("1.4")
    transformations: Transformations | None = since("1.4")
    training: Training | None = since("1.6")
    distributed: Distributed | None = since("1.8")
    memory: Memory
    acceptance: Acceptance | None = since("1.2")
    verification: Verification
    log: str | None
    """Name of the file beside the record that holds all that the worker printed; null if there is none."""
    monitors: dict[str, Any] = since("1.2")
    """What collectors read while steps ran, by collector; null where there was nothing (since 1.2)."""
    trust: Trust | None = since("1.2")
    comparable: Comparable = since("1.2")
    replication: Replication | None = since("1.2")
    peaks_reason: str | None = since("1.2")
    """Why there are no peaks; null if there are (since 1.2)."""
    peaks: Peaks | None = since("1.2")
