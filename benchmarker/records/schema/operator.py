"""How exact and how repeatable a single operator is."""

from typing import Annotated, Literal

from msgspec import Meta

from benchmarker.records.schema.kinds import (
    Count,
    Fraction,
    Group,
    NonNegative,
    Number,
    Positive,
    Ratio,
    Text,
)


class WorstElement(Group, frozen=True, kw_only=True):
    """The element with the largest difference."""

    index: list[Count]
    """Where it stands, from 0 on each axis."""
    expected: Number | None
    """What the reference has there."""
    found: Number | None
    """What the framework has there; null if it is not finite."""


class ErrorNorms(Group, frozen=True, kw_only=True):
    """Norms of the differences from the reference, over the compared elements; null without verification, a
    norm that is not finite null."""

    compared: Positive
    """How many elements were compared; of large tensors some drawn by the name alone."""
    l1_absolute: NonNegative | None
    """Sum of the absolute differences."""
    l1_relative: Ratio | None
    """l1_absolute over the same norm of the expected values."""
    l2_absolute: NonNegative | None
    """Euclidean norm of the differences."""
    l2_relative: Ratio | None
    """l2_absolute over the same norm of the expected values."""
    max_absolute: NonNegative | None
    """The largest difference."""
    max_relative: Ratio | None
    """max_absolute over the largest expected value."""
    worst: WorstElement


class Repeatability(Group, frozen=True, kw_only=True):
    """What reruns of the same mini-batch changed."""

    bitwise_equal: bool
    """Whether every rerun gave the same bits."""
    varying_share: Fraction
    """Share of the elements that are not the same in all runs."""
    largest_variance: NonNegative | None
    """Variance over all runs of the element that varies most; null if it is not finite."""


class DifferenceMap(Group, frozen=True, kw_only=True):
    """Of an output: where its differences lie, seen as a matrix of the last axis by all others, in at most
    32 x 32 cells; null of other tensors and without verification."""

    rows: Positive
    """Rows of the matrix."""
    columns: Positive
    """Columns of the matrix."""
    cells: Annotated[
        list[Annotated[list[NonNegative | None], Meta(min_length=1, max_length=32)]],
        Meta(min_length=1, max_length=32),
    ]
    """Row by row the largest difference in each cell, relative to the largest expected value; null where no
    element was compared or it is not finite."""


class OperatorTensor(Group, frozen=True, kw_only=True):
    """How exact and how repeatable one tensor is."""

    name: Text
    """Its name in the graph."""
    kind: Literal["output", "loss", "gradient"]
    """What it is."""
    shape: list[Positive]
    """Its shape."""
    errors: ErrorNorms | None
    repeatability: Repeatability
    difference_map: DifferenceMap | None


class Operator(Group, frozen=True, kw_only=True):
    """How exact and how repeatable a single operator is, of its first mini-batch; null where the problem is
    no operator, in training, and if the run ended before (since 1.4)."""

    reference: str | None
    """What the tensors are compared with; null without verification, and then there are no errors."""
    reruns: Positive
    """How often the same mini-batch was run again."""
    l1_relative: Ratio | None
    """The largest of all tensors."""
    l2_relative: Ratio | None
    """The largest of all tensors."""
    max_relative: Ratio | None
    """The largest of all tensors."""
    bitwise_equal: bool
    """Whether every rerun gave the same bits of all tensors."""
    varying_share: Fraction
    """Share of the elements of a tensor that are not the same in all runs, the largest of all tensors."""
    tensors: Annotated[list[OperatorTensor], Meta(min_length=1)]
    """Each output (or the loss), then the gradient of each operand."""
