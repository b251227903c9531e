"""The losses of a training."""

from benchmarker.records.schema.kinds import Group, NonNegative, Number, Positive


class Learning(Group, frozen=True, kw_only=True):
    """The losses of a training in its timed part, read between samples, at most every 50 ms; null in
    inference and if the run ended before (since 1.3)."""

    steps: list[Positive]
    """Timed steps done."""
    seconds: list[NonNegative]
    """Seconds since the timed part began."""
    losses: list[Number | None]
    """Loss that the last of these steps returned; null if it was not a finite number."""
