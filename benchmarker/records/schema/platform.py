"""The machine, as the collectors read it."""

from typing import Any, Literal

from benchmarker.records.schema.kinds import Group, OpenGroup, Reading


class Platform(OpenGroup, frozen=True, kw_only=True):
    """Readings of the collectors by the collector's name; those of other collectors may be any JSON."""

    host: Reading | None = None
    """The machine: name and kind."""
    cpu: Reading | None = None
    """Processors: model, cores, caches (bytes), frequency_mhz (megahertz)."""
    gpus: list[dict[str, Any]] | None = None
    """Graphics processors, one object each; empty if there are none."""
    memory: Reading | None = None
    """Main memory, in bytes."""
    os: Reading | None = None
    """Operating system and kernel."""


class CollectorOutcome(Group, frozen=True, kw_only=True):
    """How one collector fared."""

    status: Literal["ok", "absent", "failed"]
    """'ok', 'absent' (nothing to read here) or 'failed'."""
    reason: str | None
    """Why it is not ok."""
