"""Which records compare, and the fresh processes of one cell."""

from typing import Any, Literal

from benchmarker.records.schema.kinds import Count, Digest, Group, Interval, Positive, Ratio, Seconds, Text


class Comparable(Group, frozen=True, kw_only=True):
    """What must match for two records to be compared (since 1.2)."""

    hash: Digest
    """SHA-256 of the keys as JSON with sorted names."""
    keys: dict[str, Any]
    """What must match, in the clear."""


class Replication(Group, frozen=True, kw_only=True):
    """The fresh processes of this run's cell up to this one (since 1.2)."""

    campaign: Text
    """What all runs of the command have in common."""
    resumed: list[Text]
    """Identifiers of the cell's records from before the command that count too (--resume)."""
    profile: str | None
    """Name of the profile that was asked for."""
    round: Count
    """From 0; each round has every cell once."""
    position: Count
    """Place in the order of the round, from 0."""
    cells: Positive
    """How many cells the command has."""
    target_half_width: Ratio | None
    """Relative half-width of the interval that was asked for."""
    min_processes: Positive
    """The fewest that there may be."""
    max_processes: Positive
    """The most that there may be."""
    budget_seconds: Seconds | None
    """Time for the cell, in seconds; null for any."""
    processes: Count
    """Good ones of the cell so far, this one included."""
    centre_seconds: Seconds | None
    """exp of the mean of the logarithms of the processes' median steps, in seconds."""
    ci95: Interval | None
    """Student's t interval of it, in seconds; null below three processes."""
    half_width: Ratio | None
    """Relative half-width of ci95."""
    stop_reason: Literal["precision", "max_processes", "time_budget", "interrupted"] | None
    """Why this was the cell's last process; null if it was not."""
    not_met: list[str]
    """What was asked for and is not met."""
    expected_processes: Count | None
    """How many processes the target takes at the present noise."""
    expected_seconds: Seconds | None
    """How much longer that takes, in seconds."""
