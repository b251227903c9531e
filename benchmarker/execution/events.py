"""What a worker may say: every event as a typed struct.

A worker runs other people's code, so nothing that it sends is taken on trust: kinds, members, types, bounds and
order are declared here, and :mod:`benchmarker.execution.event_check` holds what arrives to it. The members of a
``result`` that become groups of a record are only held to be small here; :mod:`benchmarker.orchestration.events`
holds them to the record's own declaration. Workers import none of this: they have no msgspec.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

import msgspec
from msgspec import Meta

MAX_TEXT = 4000
"""Characters of a text that are kept, but for those of a result."""
MAX_OPEN_BYTES = 1 << 20
"""How much JSON a member may be whose own members a plug-in chooses."""

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Finite, as all numbers of JSON are."""
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(gt=0, le=1e30)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Positive = Annotated[int, Meta(ge=1, le=1 << 62)]
Process = Annotated[int, Meta(ge=1, le=1 << 31)]
Name = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,39}\Z")]
Text = Annotated[str, Meta(min_length=1)]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
Members = dict[str, Any]
"""Of a group of the record, which declares them."""
Open = dict[str, Any]
"""What a plug-in tells, by names that it chooses."""


class Part(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A group of an event's members."""


class Event(Part, kw_only=True, tag_field="event"):
    """What every event has; its tag is its kind.

    Attributes
    ----------
    after : str or None
        The kind that must have come before.
    repeats : bool
        Whether there may be several of a worker.
    is_last : bool
        Whether nothing may follow.
    longest_text : int
        How many characters of its texts are kept.
    """

    after: ClassVar[str | None] = None
    repeats: ClassVar[bool] = False
    is_last: ClassVar[bool] = False
    longest_text: ClassVar[int] = MAX_TEXT


# --- of every worker -----------------------------------------------------------------------------


class Stage(Event, tag="stage"):
    """A stage begins."""

    repeats: ClassVar[bool] = True

    name: Name


class Forked(Event, tag="forked"):
    """A warm server has forked this worker."""

    shared: Members
    """What it has in common with the others: ``execution.shared`` of a record."""


class Error(Event, tag="error"):
    """The job came to no good end, by an exception."""

    is_last: ClassVar[bool] = True

    stage: Name
    type: Text
    message: Text
    out_of_memory: bool


class Result(Event, tag="result"):
    """The job is done."""

    is_last: ClassVar[bool] = True
    longest_text: ClassVar[int] = MAX_OPEN_BYTES

    seconds: dict[Name, Seconds]
    """Of each stage."""


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


class ProofCheck(Part):
    """One thing that was looked at after the timed part."""

    name: Text
    status: Literal["passed", "failed", "left_out", "inconclusive"]
    detail: Text


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


class SpeedProbe(Part):
    """What known work took, in seconds."""

    kernel: Text
    probes: Positive
    arithmetic_seconds: Seconds
    arithmetic_slowest_seconds: Seconds
    memory_seconds: Seconds


class RunResult(Result, tag="result"):
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
    python: dict[str, str]
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

    def __post_init__(self) -> None:
        _hold_small("libraries", self.libraries)
        _hold_small("packages", self.packages)
        samples = -(-self.steps // self.block_steps)
        if len(self.samples_nanoseconds) != samples:
            raise ValueError(
                f"Expected {samples} samples of {self.steps} steps in blocks of {self.block_steps}, "
                f"got {len(self.samples_nanoseconds)}"
            )


# --- of a training by a recipe --------------------------------------------------------------------


class TrainProgress(Progress, tag="progress"):
    """How far a training is, its last loss, and the last value of what its target is of."""

    loss: Number | None = None
    quality: Number | None = None


class TrainResult(RunResult, tag="result"):
    """What a training came to: ``training`` of a record."""

    training: Members


# --- of other jobs -------------------------------------------------------------------------------


class Check(Event, tag="check"):
    """The verdict of one check; an error may be infinite or not a number."""

    repeats: ClassVar[bool] = True

    name: Text
    status: Literal["passed", "failed", "skipped"]
    detail: str
    error: float | None
    tolerance: float | None


class NodeCheck(Event, tag="check"):
    """The verdict of one of ONNX's own node tests."""

    repeats: ClassVar[bool] = True

    name: Text
    operator: Text
    status: Literal["passed", "failed", "unsupported", "folded"]
    detail: str


class CheckedResult(Result, tag="result"):
    """All checks are done."""

    version: Text
    packages: dict[str, str]


class Tie(Part):
    """What a framework does with ties of one operator."""

    name: Text
    convention: Text
    reference: Text
    fault: Text | None


class ProbesResult(CheckedResult, tag="result"):
    """The probes are computed."""

    seeds: dict[str, list[Count]]
    ties: list[Tie] = []


class Product(Part):
    """What products of one size reached."""

    size: Positive
    flops_per_second: Rate


class CalibrationResult(Result, tag="result"):
    """The peaks are measured."""

    device_name: str | None
    version: Text
    libraries: Open
    products: Annotated[list[Product], Meta(min_length=1)]
    bytes_per_second: Rate
    copy_bytes: Positive
    evidence: Members
    packages: dict[str, str]

    def __post_init__(self) -> None:
        _hold_small("libraries", self.libraries)


class LatencyRow(Part):
    """Times of mini-batches of a format."""

    format: Text
    cache: Text
    seconds: Annotated[list[Seconds], Meta(min_length=1)]
    kept: str | None = None


class LatencyResult(Result, tag="result"):
    """Mini-batches were timed."""

    version: Text
    rows: list[LatencyRow]
    packages: dict[str, str]


class ExportResult(Result, tag="result"):
    """A model is written; errors of its tensors may be infinite or not numbers."""

    framework: Text
    files: Annotated[list[Text], Meta(min_length=1)]
    bytes: Count
    opset: Positive
    nodes: Count
    parameters: Count
    inputs: dict[str, list[Count]]
    outputs: dict[str, list[Count]]
    open_axes: dict[str, list[Count]]
    tensors: list[Members] = []
    inconclusive: str | None = None


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
CheckEvent = Union[Common, Check, CheckedResult]
EVENTS: Mapping[str, Any] = {
    "run": RunEvent,
    "train": TrainEvent,
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


def _hold_small(name: str, members: Open) -> None:
    size = len(json.dumps(members))
    if size > MAX_OPEN_BYTES:
        raise ValueError(f"Expected at most {MAX_OPEN_BYTES:,} bytes, got {size:,} - at `$.{name}`")
