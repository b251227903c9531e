"""What workers say that measure no run: checks, calibrations, exports."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from benchmarker.execution.event_parts import (
    Count,
    Event,
    Members,
    Open,
    Part,
    Positive,
    ProofCheck,
    Rate,
    Result,
    Seconds,
    Text,
    hold_small,
)


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
    ties: list[Tie] = msgspec.field(default_factory=list)
    checks: list[ProofCheck] = msgspec.field(default_factory=list)


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
        hold_small("libraries", self.libraries)


FileName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[^/\x00]+\Z")]
"""Of a file beside the one that was asked for."""


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


class ExportedTensor(Part):
    """How far an output of an exported model is from the reference's."""

    name: Text
    kind: Text
    elements: Count
    compared: Count
    max_absolute_error: float
    max_relative_error: float
    tolerance: float
    norm_error: float
    norm_tolerance: float
    passed: bool
    batch_size: Positive


class ExportResult(Result, tag="result"):
    """A model is written; errors of its tensors may be infinite or not numbers."""

    framework: Text
    files: Annotated[list[FileName], Meta(min_length=1)]
    bytes: Count
    opset: Positive
    nodes: Count
    parameters: Count
    inputs: dict[str, list[Count]]
    outputs: dict[str, list[Count]]
    open_axes: dict[str, list[Count]]
    tensors: list[ExportedTensor] = msgspec.field(default_factory=list)
    inconclusive: str | None = None
