"""How a run ended, and whether it kept the limits that were set."""

from typing import Annotated, Literal

from msgspec import Meta

from benchmarker.records.schema.kinds import Group, Number, Text


class Error(Group, frozen=True, kw_only=True):
    """Why the run did not end well; null if it did."""

    stage: str | None
    """What the run was doing, e.g. 'environment', 'build', 'verify', 'timing'."""
    type: str | None
    """Class of the exception, or name of the signal."""
    message: Text
    """What happened, for people."""
    log_tail: str | None
    """The last lines of what the worker printed."""


class Limit(Group, frozen=True, kw_only=True):
    """A limit and what was measured."""

    name: Annotated[str, Meta(pattern=r"^(min|max)_[a-z_]+$")]
    """'min_' or 'max_' and the name of what is limited, e.g. 'min_throughput'."""
    limit: Number
    """The limit, in the unit of what is limited."""
    value: Number | None
    """What was measured, in the same unit; null if it is not known, which passes no limit."""
    passed: bool
    """Whether the limit is kept."""


class Acceptance(Group, frozen=True, kw_only=True):
    """Whether what was measured is within the limits that were set; null if there were none."""

    status: Literal["passed", "failed"]
    """'passed' if every limit is kept, else 'failed'."""
    limits: Annotated[list[Limit], Meta(min_length=1)]
    """Every limit that applies to the mode."""
