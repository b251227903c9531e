"""What events are made of: kinds of values with their bounds, and what every event has."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

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


class ProofCheck(Part):
    """One thing that was looked at besides the tensors of a first step."""

    name: Text
    status: Literal["passed", "failed", "left_out", "inconclusive"]
    detail: Text


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


def hold_small(name: str, members: Open) -> None:
    """Refuse members that a plug-in chooses where they are too many.

    Raises
    ------
    ValueError
        If they are longer than :data:`MAX_OPEN_BYTES` as JSON.
    """
    size = len(json.dumps(members))
    if size > MAX_OPEN_BYTES:
        raise ValueError(f"Expected at most {MAX_OPEN_BYTES:,} bytes, got {size:,} - at `$.{name}`")
