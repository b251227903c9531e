"""How load came, and what came of it."""

from typing import Annotated, Literal

from benchmarker.records.schema.kinds import Count, Fraction, Group, NonNegative, Positive, Seconds, unit

Rate = Annotated[NonNegative, unit("queries/s")]


class Trial(Group, frozen=True, kw_only=True):
    """One row of queries at one rate of a server."""

    part: Literal["alone", "search", "confirmation"]
    """What it was for. 'alone': each query came when the one before it was answered."""
    number: Count
    """Which arrivals it had: they follow from the seed and this number."""
    rate: Rate | None
    """Queries per second that arrived in the mean; null for 'alone'."""
    queries: Positive
    """Queries that were answered; a trial ends once it is sure to have missed the bound."""
    late: Count
    """Those of them that took longer than the bound."""
    verdict: Literal["met", "missed", "undecided"]
    """Whether so many prove that the percentile keeps the bound, or that it does not."""
    percentile_seconds: Seconds
    """The percentile of latencies, in seconds."""
    completed_per_second: Rate
    """Queries answered, over the time from the start to the last answer."""
    late_start_seconds: Seconds
    """Median, of queries that found nothing else served, from arrival to when they were begun, in seconds."""


class Server(Group, frozen=True, kw_only=True):
    """The search for the highest rate of arrivals at which a bound of latency is kept."""

    outcome: Literal["sustained", "unreachable", "unconfirmed"]
    """'sustained': a rate was found and confirmed; 'unreachable': no rate keeps the bound; 'unconfirmed': what was
    found did not hold again."""
    reason: str | None
    """Why there is no rate; null if there is one."""
    rate: Rate | None
    """The highest rate that was confirmed; null if there is none."""
    rate_interval: Annotated[list[Rate], unit("queries/s")]
    """From the rate that was confirmed (0 if none was) to the lowest above it whose trials all missed the bound, or the
    capacity."""
    capacity: Rate
    """Queries per second that were answered one right after the other."""
    trials: list[Trial]
    """All, in their order."""


class Scenario(Group, frozen=True, kw_only=True):
    """How load came, after MLPerf's LoadGen; a query is a mini-batch, offline several that are handed over at once."""

    name: Literal["single-stream", "offline", "server"]
    """How queries came: each when the one before it was answered; many at once; or as a Poisson process."""
    query_samples: Positive
    """Samples of a query."""
    queries: Positive
    """Queries that the percentile is of; offline, all."""
    percentile: Annotated[float, unit("%")] | None
    """Which percentile of latencies is told: the 90th, of a server the 99th; null offline."""
    confidence: Fraction | None
    """Of each of the two bounds of the percentile, for independent latencies."""
    percentile_seconds: Seconds | None
    """The percentile by linear interpolation, in seconds."""
    at_least_seconds: Seconds | None
    """The percentile is at least this, in seconds; null if too few queries tell."""
    at_most_seconds: Seconds | None
    """The percentile is at most this, in seconds; null if too few queries tell."""
    latencies_seconds: list[Seconds] | None
    """Of a server: seconds from when each query was to arrive until it was answered, in the trials that have confirmed
    the rate, or in the last; null otherwise, where timing.samples_seconds are the latencies."""
    latency_bound_seconds: Seconds | None
    """Of a server: what the percentile must keep, in seconds."""
    server: Server | None
