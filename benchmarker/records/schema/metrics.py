"""Rates, energy, cost and memory, and the peaks that they are compared with."""

from typing import Annotated

from benchmarker.records.schema.kinds import (
    ByteCount,
    Fraction,
    Group,
    NonNegative,
    Number,
    OpenGroup,
    Ratio,
    Seconds,
    since,
    unit,
)


class Metrics(OpenGroup, frozen=True, kw_only=True):
    """Results derived from the run. Further ones are numbers whose names carry their units."""

    throughput: Annotated[NonNegative | None, unit("samples/s")]
    """Samples per second: all samples divided by total_seconds."""
    flops_per_second: Annotated[NonNegative | None, unit("FLOP/s")]
    """Floating-point operations per second: those of problem.flops_per_step in all timed steps divided by
    total_seconds."""
    loss_first: Number | None = since("1.2")
    """Loss of the first step; null if it was not a finite number."""
    loss_last: Number | None = since("1.2")
    """Loss of the last timed step; null if it was not a finite number."""
    accuracy: Fraction | None = since("1.2")
    """Share of the data set's samples (about 2,000 at most) that the trained weights classify rightly; null
    without a data set (since 1.1)."""
    epoch_seconds: Seconds | None = since("1.2")
    """Time for samples_per_epoch samples at this throughput, in seconds."""
    training_seconds: Seconds | None = since("1.2")
    """Time of all timed training steps, from the start of the first to the end of the last
    (timing.wall_seconds), in seconds; null in inference."""
    steps_to_target: NonNegative | None = since("1.6")
    """Updates until a recipe's target was reached; null if it was not, or without a recipe (since 1.6)."""
    seconds_to_target: Seconds | None = since("1.6")
    """Time until then by the clocks of training, loading and the first step; evaluation left out (since 1.6)."""
    batches_per_second: Annotated[NonNegative | None, unit("batches/s")] = since("1.2")
    """Mini-batches per second of inference: timed steps divided by timing.wall_seconds, which ends with the
    last step; null in training."""
    bytes_per_second: Annotated[NonNegative | None, unit("B/s")] = since("1.2")
    """Bytes that the operators read and write, without any fusion, per second (since 1.2)."""
    arithmetic_intensity: NonNegative | None = since("1.4")
    """Floating-point operations of a step for each byte that its operators read and write, without any
    fusion (since 1.4)."""
    algorithmic_bandwidth: Annotated[NonNegative | None, unit("B/s")] = None
    """Of a collective: bytes of the whole vector (distributed.collective.bytes) times messages per step, in all timed
    steps divided by total_seconds; absent otherwise."""
    bus_bandwidth: Annotated[NonNegative | None, unit("B/s")] = None
    """Of a collective: algorithmic_bandwidth times distributed.collective.bus_factor, which compares with the bandwidth
    of a link at any number of ranks; absent otherwise."""
    one_way_seconds: Seconds | None = None
    """Of messages between two ranks that are answered one by one: half of timing.step_seconds.median, in seconds;
    absent otherwise."""
    time_to_first_token: Seconds | None = None
    """Of generation: median seconds from the start of a mini-batch of prompts to their first tokens; absent
    otherwise."""
    time_per_output_token: Seconds | None = None
    """Of generation: median, over generations, of the seconds from the first token to the last divided by the tokens
    after the first; absent otherwise."""
    tokens_per_second: Annotated[NonNegative | None, unit("tokens/s")] = None
    """Of generation: tokens that were generated for all samples in all timed steps, divided by total_seconds; absent
    otherwise."""
    single_stream_latency: Seconds | None = None
    """Of the scenario single-stream: the 90th percentile of latencies, in seconds; absent otherwise."""
    latency_bounded_throughput: Annotated[NonNegative | None, unit("samples/s")] = None
    """Of the scenario server: samples per second of the highest rate of arrivals at which the 99th percentile of
    latencies keeps the bound; absent if there is none (timing.scenario.server.reason says why), and otherwise."""
    cost_per_million_samples: NonNegative | None = since("1.2")
    """In the currency of --price-per-hour (since 1.2)."""
    cost_of_run: NonNegative | None = since("1.2")
    """From start to end, in the same currency (since 1.2)."""
    joules: Annotated[Number | None, unit("J")] = since("1.2")
    """Energy of the timed part, idle draw left out (monitors.energy has both); null if it was not measured
    (since 1.2)."""
    joules_per_sample: Annotated[NonNegative | None, unit("J/sample")] = since("1.2")
    """Joules for each sample (since 1.2)."""
    samples_per_joule: Annotated[NonNegative | None, unit("samples/J")] = since("1.2")
    """Samples for each joule (since 1.2)."""
    flop_per_joule: Annotated[NonNegative | None, unit("flop/J")] = since("1.2")
    """Floating-point operations for each joule (since 1.2)."""
    flops_share_of_peak: Ratio | None = since("1.2")
    """Model FLOPs utilization: flops_per_second over that of peaks; null without a calibration (since
    1.2)."""
    bytes_share_of_peak: Ratio | None = since("1.2")
    """bytes_per_second over that of peaks; null without a calibration (since 1.2)."""


class Memory(Group, frozen=True, kw_only=True):
    """Memory used."""

    peak_bytes: ByteCount | None
    """Largest resident size of the process on the host, in bytes."""
    framework: dict[str, ByteCount | None]
    """What the framework knows of its device memory, in bytes, by name."""
    predicted: dict[str, ByteCount] = since("1.2")
    """What the graph predicts, in bytes, by what it holds (since 1.2)."""


class Peaks(Group, frozen=True, kw_only=True):
    """The most that was measured on this machine by 'calibrate', for such a device, precision and number of
    threads; null without a calibration, and peaks_reason says so (since 1.2)."""

    flops_per_second: Annotated[NonNegative, unit("FLOP/s")]
    """Floating-point operations per second of a matrix product."""
    flops_by: str
    """The program that reached them."""
    bytes_per_second: Annotated[NonNegative, unit("B/s")]
    """Bytes read and written per second by copying a large array."""
    bytes_by: str
    """The program that moved so many bytes."""
    measured_at: str
    """When 'calibrate' measured them."""
