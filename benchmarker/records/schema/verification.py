"""Proof that the framework computed the same function as the reference."""

from typing import Annotated, Any, Literal

from benchmarker.records.schema.kinds import Count, Group, NonNegative, Text, narrowed, requires, since


class TensorErrors(Group, frozen=True, kw_only=True):
    """How far one tensor is from the reference."""

    name: Text
    """Name of the graph's output or parameter, or 'loss'."""
    kind: Literal["output", "loss", "gradient", "update", "state", "statistic"]
    """What is compared: an output, the loss, the gradient of a parameter, what one update did to a parameter, the
    optimizer's state after it, or a running statistic after a step."""
    elements: Count
    """Number of elements of the tensor."""
    compared: Count
    """Number of elements that were compared."""
    max_absolute_error: NonNegative | None
    """Largest absolute difference from the reference, in the tensor's own unit; null if it was not a finite
    number."""
    max_relative_error: NonNegative | None
    """Largest absolute difference divided by the largest element of the reference (a ratio); null if it was
    not a finite number."""
    tolerance: NonNegative | None
    """Largest max_relative_error that passes."""
    norm_error: NonNegative | None
    """Euclidean norm of the differences divided by that of the reference (a ratio), or the relative
    difference of the norms of the whole tensors if that is larger and only part was compared; null if it
    was not a finite number."""
    norm_tolerance: NonNegative | None
    """Largest norm_error that passes."""
    passed: bool
    """Whether the tensor is within its tolerance."""


class Check(Group, frozen=True, kw_only=True):
    """One thing that was looked at after the timed part."""

    name: Text
    """What was looked at."""
    status: Literal["passed", "failed", "left_out", "inconclusive"]
    """How it came out."""
    detail: Text
    """What it was compared with; where it failed what was wrong, where it was left out why."""


class AfterTiming(Group, frozen=True, kw_only=True):
    """What the program that was timed computed after the timed part, on mini-batches that it had never seen."""

    status: Literal["passed", "failed", "left_out", "inconclusive"]
    """The worst of its checks."""
    reason: Text
    """Which checks failed and why."""
    seconds: NonNegative
    """What it took, in seconds, outside of the timed part."""
    checks: list[Check]
    """In the order in which they were made."""
    tensors: list[TensorErrors]
    """Every tensor that they compared."""


class Quantization(Group, frozen=True, kw_only=True):
    """What quantizing a graph to 8 bits has changed, and on what its ranges were measured."""

    operands: Count
    """How many tensors are quantized: weights, and what is computed."""
    calibration_samples: Count
    """Samples on which ranges were measured."""
    max_relative_error: NonNegative | None
    """Largest absolute difference between the framework's outputs and those of the graph as it is, in float64, divided
    by the largest element of the output (a ratio); null if it was not a finite number."""
    norm_error: NonNegative | None
    """Euclidean norm of these differences divided by that of the output (a ratio), of the output for which it is
    largest; null if it was not a finite number."""
    products: Count | None = None
    """Convolutions and matrix products of the graph; absent from records of before they were counted."""
    integer_products: Count | None = None
    """How many of them the framework says that it computed in integers; null or absent if it does not say."""


class Verification(Group, frozen=True, kw_only=True):
    """Proof that the framework computed the same function as the reference."""

    status: Literal["passed", "failed", "skipped", "inconclusive"] | None
    """'passed', 'failed', 'skipped', or 'inconclusive' where rounding alone moves the reference too far to
    judge; null if the run ended before."""
    reason: str | None
    """Why it failed or was skipped."""
    reference: str | None
    """What it was compared with, e.g. 'numpy fp64'."""
    samples: Count | None
    """Samples of the mini-batch that were compared."""
    tolerance_reason: str | None
    """Why the tolerance is what it is."""
    worst: Annotated[dict[str, Any] | None, requires("name"), narrowed(TensorErrors, since="1.2")]
    """The tensor that is furthest from the reference for its tolerance."""
    tensors: list[TensorErrors]
    """Every tensor that was compared."""
    after_timing: AfterTiming | None = since("1.5")
    """What was found after the timed part; null if the run ended before it or was not verified."""
    quantization: Quantization | None = None
    """Of precision int8: how far outputs are from those of the graph before it was quantized, which no tolerance
    bounds; absent otherwise."""
