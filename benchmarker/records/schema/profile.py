"""Time of a step by operator."""

from benchmarker.records.schema.kinds import Count, Duration, Fraction, Group, NonNegative, Seconds, Text


class ProfiledNode(Group, frozen=True, kw_only=True):
    """One node of the graph."""

    node: Text
    """Its name in the graph."""
    operator: Text
    """Its operator."""
    native: list[str]
    """What the framework calls its operations, the longest first."""
    forward_seconds: Seconds
    """Seconds of a step."""
    backward_seconds: Seconds
    """Seconds of a step."""
    share: NonNegative
    """Of the step."""
    calls: NonNegative
    """Operations in a step."""


class Profile(Group, frozen=True, kw_only=True):
    """Time of a step by operator, from the framework's own profiler, in a pass of its own; seconds are
    means over the profiled steps; null if it was not asked for (since 1.4)."""

    source: str | None
    """Which profiler."""
    steps: Count
    """How many steps were profiled."""
    step_seconds: Duration | None
    """A step under the profiler, in seconds."""
    slowdown: NonNegative | None
    """Median step under the profiler over the median timed step."""
    nodes: list[ProfiledNode]
    """Nodes of the graph that calls came from, the largest share first."""
    update_seconds: Seconds | None
    """Seconds of the optimizer in a step; null where nothing is updated."""
    unexplained_seconds: Seconds | None
    """Seconds of a step in calls that came from no node, and between calls."""
    unexplained_share: Fraction | None
    """The same as a share of the step."""
    reason: str | None
    """Why there is no profile."""
    trace: str | None
    """Name of the trace beside the record, for ui.perfetto.dev; null if there is none."""
