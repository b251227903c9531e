"""Where the time went."""

from typing import Literal

from benchmarker.records.schema.kinds import (
    Count,
    Duration,
    Fraction,
    Group,
    Interval,
    Positive,
    Seconds,
    since,
)
from benchmarker.records.schema.scenario import Scenario


class StepStatistics(Group, frozen=True, kw_only=True):
    """Statistics of samples_seconds from steady_state.start on (before 1.2: of all), each derived from
    those samples alone; null if there are none."""

    count: Positive
    """Number of samples."""
    median: Seconds
    """Median step (50th percentile), in seconds."""
    ci95: Interval | None
    """Lower and upper end of the 95 % confidence interval of the median, in seconds; null if there are too
    few samples. Since 1.2 it allows for autocorrelation (ci95_method)."""
    ci95_reason: str | None
    """Why there is no interval; null if there is one."""
    ci95_level: Literal["within one process"]
    """The level of replication that ci95 speaks of. It does not cover the difference between processes."""
    ci95_coverage: Fraction | None = None
    """Exact coverage of ci95 for independent samples, a probability."""
    mean: Seconds
    """Arithmetic mean, in seconds."""
    std: Seconds | None
    """Standard deviation of the sample (divided by count - 1), in seconds; null for one sample."""
    min: Seconds
    """Shortest step, in seconds."""
    max: Seconds
    """Longest step, in seconds."""
    p5: Seconds | None
    """5th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    p25: Seconds | None
    """25th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    p75: Seconds | None
    """75th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    p90: Seconds | None
    """90th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    p95: Seconds | None
    """95th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    p99: Seconds | None
    """99th percentile by linear interpolation, in seconds; null where the samples do not bound it (since
    1.2)."""
    ci95_method: str = since("1.2")
    """How the interval was computed (since 1.2)."""
    percentiles_reason: dict[str, str] = since("1.2")
    """Why a percentile is null, by its name (since 1.2)."""


class Segment(Group, frozen=True, kw_only=True):
    """A run of samples of one level."""

    start: Count
    """Its first sample."""
    end: Positive
    """The first sample after it."""
    median_seconds: Seconds
    """Median step of its samples, in seconds."""


class SteadyState(Group, frozen=True, kw_only=True):
    """What the course of the samples says, by change points; null if there are none (since 1.2)."""

    kind: Literal["flat", "warmup", "slowdown", "no_steady_state", "disturbed"] | None
    """'flat', 'warmup' (slower at first), 'slowdown' (faster at first), 'no_steady_state' (less than half
    of the samples are of the last level), 'disturbed' (by the machine); null with too few samples to
    tell."""
    start: Count
    """The first sample that the statistics take."""
    segments: list[Segment]
    """Runs of samples of one level: from start up to, not including, end."""
    reason: str
    """The same in words."""


class Window(Group, frozen=True, kw_only=True):
    """Samples that were taken in one turn."""

    start: Count
    """Its first sample."""
    end: Positive
    """The first sample after it."""
    began_seconds: Seconds
    """When it began, in seconds of the machine's monotonic clock."""
    ended_seconds: Seconds
    """When it ended, in seconds of the same clock."""


class BreakdownPart(Group, frozen=True, kw_only=True):
    """One part of a step."""

    median_seconds: Seconds
    """Median of its samples, in seconds."""
    samples_seconds: list[Seconds]
    """What it took in each of the steps, in seconds."""


class Breakdown(Group, frozen=True, kw_only=True):
    """Parts of a step, timed in a pass of their own with a synchronisation after each; null if not asked
    for (since 1.2)."""

    steps: Count
    """How many steps were timed for it."""
    parts: dict[str, BreakdownPart]
    """'data' is bringing a mini-batch to the device; 'synchronisation' what a step waits for the device in
    all, contained in the other parts."""
    reason: str | None
    """Why there are no parts."""


class Overhead(Group, frozen=True, kw_only=True):
    """What measuring itself costs, in seconds: the sampler around an empty step (median, 99th percentile,
    all of a step), the clock's resolution, an empty synchronisation; null if the run ended before (since
    1.2)."""

    null_p50_seconds: Seconds
    """What the sampler reports for an empty step, median, in seconds."""
    null_p99_seconds: Seconds
    """The same, 99th percentile, in seconds."""
    null_step_seconds: Seconds
    """All that an empty step costs, in seconds."""
    clock_resolution_seconds: Seconds
    """The smallest step of the clock that was seen, in seconds."""
    synchronisation_seconds: Seconds
    """A synchronisation that has nothing to wait for, in seconds."""


class Generation(Group, frozen=True, kw_only=True):
    """When the tokens of timed generations were there."""

    first_token_seconds: list[Seconds]
    """Of each generation, from its start to the first token of all samples, in seconds."""
    output_token_seconds: list[Seconds]
    """Of each generation, from there to the last token, divided by the tokens after the first, in seconds."""
    token_median_seconds: Seconds
    """From a token to the next: the median of all after the first, in seconds."""
    token_p99_seconds: Seconds
    """The 99th percentile of the same, in seconds."""


class Timing(Group, frozen=True, kw_only=True):
    """Where the time went; each phase apart."""

    clock: str | None
    """Name of the clock, e.g. 'perf_counter_ns'."""
    clock_resolution_seconds: Seconds | None
    """Resolution of the clock, in seconds."""
    process_start_seconds: Seconds | None
    """From the start of the process to the worker's first line, in seconds."""
    import_seconds: Seconds | None
    """Import of the framework, in seconds."""
    device_seconds: Seconds | None
    """Initialisation of the device, in seconds."""
    initialise_seconds: Seconds | None
    """Making the weights and the mini-batch, in seconds."""
    build_seconds: Seconds | None
    """Making the graph native, in seconds."""
    verify_seconds: Seconds | None
    """Verification against the reference, in seconds."""
    compile_seconds: Seconds | None
    """The first step, with whatever it compiles, in seconds."""
    warmup_seconds: Seconds | None
    """Untimed steps after the first, in seconds."""
    warmup_steps: Count | None
    """Number of untimed steps after the first."""
    samples_seconds: list[Seconds] | None
    """Seconds per step of every timed sample in order, each sample closed by the device's synchronisation: a
    step, or a block of block_steps steps (since 1.2); none is left out."""
    step_seconds: StepStatistics | None
    total_seconds: Seconds | None
    """All timed steps together, in seconds."""
    wall_seconds: Seconds | None = since("1.2")
    """From the start of the first timed step to the end of the last, what is between steps included, in
    seconds."""
    window_seconds: Duration | None = since("1.2")
    """How long inference was to be repeated, in seconds; null if a number of steps decided."""
    warmup_samples_seconds: list[Seconds] = since("1.2")
    """Every untimed step after the first, in order, in seconds (since 1.2)."""
    sampling: Literal["latency", "throughput"] = since("1.2")
    """'latency': synchronised after each step; 'throughput': after each block of steps (since 1.2)."""
    steps: Positive | None = since("1.2")
    """Number of timed steps (since 1.2)."""
    block_steps: Positive | None = since("1.2")
    """Steps of a sample; the last sample has those that are left (since 1.2)."""
    steady_state: SteadyState | None = since("1.2")
    compilations: Count | None = since("1.2")
    """How often the framework compiled during the timed part; null if it does not say (since 1.2)."""
    windows: list[Window] | None = since("1.5")
    """The turns of a process that took them with one of another configuration, which stood still meanwhile; null
    where it ran alone (since 1.5)."""
    breakdown: Breakdown | None = since("1.2")
    overhead: Overhead | None = since("1.2")
    generation: Generation | None = None
    """Of generation: when its tokens were there; absent otherwise."""
    scenario: Scenario | None = None
    """Of a scenario: how load came and what came of it; absent where steps followed one another."""
    device_event_seconds: list[Seconds] | None = since("1.2")
    """Seconds of every timed step by the device's own events, beside samples_seconds; null where there are
    none (since 1.2)."""
