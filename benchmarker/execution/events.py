"""What a worker may say: every event as a typed struct.

A worker runs other people's code, so nothing that it sends is taken on trust: kinds, members, types, bounds and
order are declared here, and :mod:`benchmarker.execution.event_check` holds what arrives to it. The members of a
``result`` that become groups of a record are only held to be small here; :mod:`benchmarker.orchestration.events`
holds them to the record's own declaration. Workers import none of this: they have no msgspec.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

from msgspec import Meta

from benchmarker.execution.event_parts import (
    Count,
    Digest,
    Error,
    Forked,
    Members,
    Name,
    Number,
    Open,
    Part,
    Positive,
    Process,
    ProofCheck,
    Result,
    Seconds,
    Share,
    Stage,
    Text,
    hold_small,
)
from benchmarker.execution.event_parts import (
    Event as Event,
)
from benchmarker.execution.other_events import (
    CalibrationResult,
    Check,
    CheckedResult,
    ExportResult,
    LatencyResult,
    NodeCheck,
    ProbesResult,
)

# --- of a measured run ---------------------------------------------------------------------------


class Digests(Part):
    """SHA-256 of what the run starts from."""

    parameters: Digest
    batch: Digest


class Prepared(Event, tag="prepared"):
    """The problem is native."""

    version: Text
    device_name: str | None
    composed_operators: list[str]
    custom_operators: dict[str, str]
    digests: Digests
    optimizer_variant: Literal["native", "composed"] | None = None


class Verification(Event, tag="verification"):
    """What the comparison with the reference said: ``verification`` of a record."""

    after: ClassVar[str | None] = "prepared"

    status: Literal["passed", "failed", "skipped", "inconclusive"]
    reason: str | None
    reference: str | None
    samples: Count | None
    tolerance_reason: str | None
    worst: Members | None
    tensors: list[Members]
    quantization: Members | None = None


class Progress(Event, tag="progress"):
    """How far warm-up or sampling is."""

    repeats: ClassVar[bool] = True
    after: ClassVar[str | None] = "prepared"

    done: Count
    total: Count | None
    step_seconds: Seconds


class Ready(Event, tag="ready"):
    """The timed part begins at the answer."""

    after: ClassVar[str | None] = "prepared"

    pid: Process
    steps: Positive | None
    step_seconds: Seconds


class WindowEnded(Event, tag="window_ended"):
    """A window of a worker that takes turns has ended; the next begins at the answer."""

    repeats: ClassVar[bool] = True
    after: ClassVar[str | None] = "ready"


class Timed(Event, tag="timed"):
    """The timed part has ended."""

    after: ClassVar[str | None] = "ready"


class Proof(Event, tag="proof"):
    """What the timed program computed after the timed part: ``verification.after_timing`` of a record."""

    after: ClassVar[str | None] = "timed"

    status: Literal["passed", "failed", "left_out", "inconclusive"]
    reason: Text
    seconds: Seconds
    checks: list[ProofCheck]
    tensors: list[Members]


class UntimedPassStarted(Event, tag="untimed_pass_started"):
    """The pass for monitors begins at the answer, or is left out."""

    after: ClassVar[str | None] = "timed"

    pid: Process


class UntimedPassEnded(Event, tag="untimed_pass_ended"):
    """The pass for monitors has ended."""

    after: ClassVar[str | None] = "untimed_pass_started"


class Memory(Part):
    """Memory that was used, in bytes."""

    peak_bytes: Count | None
    framework: dict[str, Count | None]


class Taken(Part):
    """Which mini-batches the steps have taken."""

    distinct_batches: Positive
    resident_bytes: Count | None
    epochs: list[Digest]


class RunningPython(Part):
    """The interpreter of a worker: ``environment`` of a record."""

    version: Text
    implementation: Text
    build: Text
    profile_guided: bool | None


class SpeedProbe(Part):
    """What known work took, in seconds."""

    kernel: Text
    probes: Positive
    arithmetic_seconds: Seconds
    arithmetic_slowest_seconds: Seconds
    memory_seconds: Seconds
    interpreter_seconds: Seconds


class RunResult(Result, tag="result", kw_only=True):
    """What a run has measured."""

    after: ClassVar[str | None] = "timed"

    warmup_nanoseconds: list[Count]
    samples_nanoseconds: Annotated[list[Count], Meta(min_length=1)]
    wall_nanoseconds: Count
    steps: Positive
    block_steps: Positive
    device_event_seconds: list[Seconds] | None
    compilations: Count | None
    stage_compilations: dict[Name, Positive] | None
    loss_first: Number | None
    loss_last: Number | None
    accuracy: Share | None
    memory: Memory
    data: Taken
    libraries: Open
    packages: dict[str, str]
    python: RunningPython
    clock: Text
    clock_resolution_seconds: Seconds
    evidence: Members
    checkpoints: Members
    overhead: Members
    process: Members
    windows: list[Members] | None
    speed: SpeedProbe
    learning: Members | None
    breakdown: Members | None
    profile: Members | None
    operator: Members | None
    generation: Members | None = None
    scenario: Members | None = None

    def __post_init__(self) -> None:
        hold_small("libraries", self.libraries)
        hold_small("packages", self.packages)
        samples = -(-self.steps // self.block_steps)
        if len(self.samples_nanoseconds) != samples:
            raise ValueError(
                f"Expected {samples} samples of {self.steps} steps in blocks of {self.block_steps}, "
                f"got {len(self.samples_nanoseconds)}"
            )


# --- of a rank -----------------------------------------------------------------------------------


class Gather(Event, tag="gather"):
    """What a rank has to say to all others; they go on once each has said it."""

    repeats: ClassVar[bool] = True

    name: Text
    value: Any
    everyone: bool
    """Whether the server says something too."""

    def __post_init__(self) -> None:
        hold_small("value", {"value": self.value})


class Alive(Event, tag="alive"):
    """It is at work while others wait for it, or waits for them without asking anything."""

    repeats: ClassVar[bool] = True


class RankMeasurements(Part):
    """What a rank alone knows of its steps."""

    rank: Count
    pid: Process
    cpus: list[Count]
    part_seconds: dict[Text, list[Seconds]]
    part_spans: list[tuple[Count, Text, Number, Seconds]]
    exchanged_bytes: dict[Text, Number] | None
    report: Open

    def __post_init__(self) -> None:
        hold_small("report", self.report)


class RankResult(RunResult, tag="result"):
    """What a rank has measured."""

    rank: RankMeasurements


class ServeResult(Result, tag="result"):
    """What a server has done."""

    updates: Count
    staleness: dict[str, Count]


class HelpResult(Result, tag="result"):
    """What a helper of a native scheme has done, if it is a server that tells of it."""

    updates: Count | None
    staleness: dict[str, Count] | None


# --- of a training by a recipe --------------------------------------------------------------------


class TrainProgress(Progress, tag="progress"):
    """How far a training is, its last loss, and the last value of what its target is of."""

    loss: Number | None = None
    quality: Number | None = None


class TrainResult(RunResult, tag="result"):
    """What a training came to: ``training`` of a record."""

    training: Members


class RankTrainResult(RankResult, tag="result"):
    """What a training of several ranks came to, as one of them tells it."""

    training: Members


Common = Union[Stage, Forked, Error]
RunEvent = Union[
    Common,
    Prepared,
    Verification,
    Progress,
    Ready,
    WindowEnded,
    Timed,
    Proof,
    UntimedPassStarted,
    UntimedPassEnded,
    RunResult,
]
TrainEvent = Union[
    Common,
    Prepared,
    Verification,
    TrainProgress,
    Ready,
    Timed,
    Proof,
    TrainResult,
]
RankEvent = Union[
    Common,
    Prepared,
    Gather,
    Alive,
    Verification,
    Progress,
    Ready,
    Timed,
    Proof,
    RankResult,
]
RankTrainEvent = Union[
    Common,
    Prepared,
    Gather,
    Alive,
    Verification,
    TrainProgress,
    Ready,
    Timed,
    Proof,
    RankTrainResult,
]
CheckEvent = Union[Common, Check, CheckedResult]
EVENTS: Mapping[str, Any] = {
    "run": RunEvent,
    "train": TrainEvent,
    "rank": RankEvent,
    "rank_train": RankTrainEvent,
    "collective": RankEvent,
    "serve": Union[Common, Gather, Alive, ServeResult],
    "help": Union[Common, Gather, Alive, HelpResult],
    "reference": Union[Common, Result],
    "probes": Union[Common, ProbesResult],
    "calibrate": Union[Common, CalibrationResult],
    "latency": Union[Common, LatencyResult],
    "conformance": CheckEvent,
    "operator_gradients": CheckEvent,
    "problem_gradients": CheckEvent,
    "node_tests": Union[Common, NodeCheck, CheckedResult],
    "export": Union[Common, ExportResult],
    "unpack": Union[Common, Result],
}
"""What a worker may say, by the kind of its job."""


@cache
def kinds_of(job: str) -> Mapping[str, type[Event]]:
    """Return the events that a job of a kind may send, by their own kind."""
    return {event.__struct_config__.tag: event for event in get_args(EVENTS[job])}
