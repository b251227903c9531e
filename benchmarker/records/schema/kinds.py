"""The kinds of values that members of a record have: their bounds, their units, and since when they are there."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

UNIT, MEMBERS, REQUIRED, NARROWED, READING = "unit", "members", "required", "narrowed", "reading"
"""What :class:`msgspec.Meta` carries for us under ``extra``."""


def unit(symbol: str) -> Meta:
    """Return the note that a number has this unit; ``1`` for a ratio."""
    return Meta(extra={UNIT: symbol})


def members(group: type[msgspec.Struct]) -> Meta:
    """Return the note that an open object has the members of a group, and may have others."""
    return Meta(extra={MEMBERS: group})


def requires(*names: str) -> Meta:
    """Return the note that an open object has members of these names, of any kind."""
    return Meta(extra={REQUIRED: names})


def narrowed(group: type[msgspec.Struct], *, since: str) -> Meta:
    """Return the note that an object which was open is a group since a version."""
    return Meta(extra={NARROWED: (since, group)})


class Since:
    """The default of a member that records have since a version: in older ones it is unset."""

    def __init__(self, version: str) -> None:
        self.version = version

    def __call__(self) -> Any:
        return UNSET


def since(version: str) -> Any:
    """Return the default of a member that records must have since a version, and older ones lack."""
    return msgspec.field(default_factory=Since(version))


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An object of a record whose members are all known."""


class OpenGroup(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Members of an object that may have others."""


Number = float
"""Finite, as all numbers of JSON are."""
NonNegative = Annotated[float, Meta(ge=0)]
Ratio = Annotated[NonNegative, unit("1")]
Fraction = Annotated[float, Meta(ge=0, le=1), unit("1")]
Seconds = Annotated[NonNegative, unit("s")]
Duration = Annotated[float, Meta(gt=0), unit("s")]
"""Seconds, and not none."""
Interval = Annotated[list[Seconds], Meta(min_length=2, max_length=2)]
"""Its lower and its upper end, in seconds."""

MAX_COUNT = 2**63 - 1
"""What a column of whole numbers holds; there are numbers beyond it that nobody can take a share of."""
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Positive = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
ByteCount = Annotated[Count, unit("B")]

Reading = Annotated[dict[str, Any], Meta(extra={READING: True})]
"""What a collector has read of one thing; a ``name`` in it stands for it."""

Text = Annotated[str, Meta(min_length=1)]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
Timestamp = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$")]
"""UTC, ISO 8601, microseconds."""
