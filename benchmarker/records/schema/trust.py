"""How far the numbers can be trusted, and what the machine did meanwhile."""

from typing import Annotated, Literal

from benchmarker.records.schema.kinds import (
    Count,
    Fraction,
    Group,
    NonNegative,
    Number,
    Positive,
    Ratio,
    Seconds,
    since,
    unit,
)


class Reason(Group, frozen=True, kw_only=True):
    """One thing that disturbed the run (before 1.5: that spoke against the numbers)."""

    kind: str
    """What it is, e.g. 'cpu_pressure'."""
    severity: Literal["noisy", "contaminated"]
    """The grade that it alone would give."""
    text: str
    """The same in a sentence."""
    value: Number | None
    """What was observed, where that is a number."""
    limit: Number | None
    """The limit that it passed, in the same unit."""


class Finding(Group, frozen=True, kw_only=True):
    """One thing that the run does to its own numbers, which is no disturbance."""

    kind: str
    """What it is, e.g. 'oversubscribed'."""
    text: str
    """The same in a sentence."""
    advice: str | None
    """What to change, if that is known."""
    excludes: bool
    """Whether the number must not be compared with others."""
    value: Number | None
    """What was observed, where that is a number."""
    limit: Number | None
    """The limit that it passed, in the same unit."""


class Precision(Group, frozen=True, kw_only=True):
    """How well the number is known, by its interval; null if there is no number (since 1.5)."""

    grade: Literal["high", "medium", "low", "unknown"]
    """'high': to within 2 %, 'medium': to within 10 %, 'low': not even that, 'unknown': there is no interval."""
    level: Literal["within one process", "between processes"]
    """What the interval speaks of."""
    half_width: Ratio | None
    """Half of the 95 % interval, of the number; null without one."""
    least_difference: Ratio | None
    """The smallest difference from another number known as well that both show, of the number."""


class ForeignProcess(Group, frozen=True, kw_only=True):
    """A process that is not the worker's."""

    name: str | None
    """Its name; null with --anonymous."""
    pid: Count
    """Its number."""
    cores: NonNegative
    """Cores that it used."""


class Frequency(Group, frozen=True, kw_only=True):
    """Mean clock frequency of the worker's cores at both ends, in MHz."""

    first: Annotated[NonNegative | None, unit("MHz")]
    """Before the timed part."""
    last: Annotated[NonNegative | None, unit("MHz")]
    """After it."""


class Evidence(Group, frozen=True, kw_only=True):
    """What the machine did during the timed part; null is not known, all of it in an imported record."""

    seconds: Seconds
    """How long the timed part took, in seconds."""
    cpus: Positive
    """Logical cores of the machine."""
    steal_share: Ratio | None
    """Share of the cores' time that a hypervisor gave to others."""
    busy_cores: NonNegative | None
    """Cores that all processes used together."""
    cpu_pressure_share: Ratio | None
    """Share of the time in which a task waited for a core."""
    io_pressure_share: Ratio | None
    """Share of the time in which a task waited for a disk."""
    memory_pressure_share: Ratio | None
    """Share of the time in which a task waited for memory."""
    own_cpu_seconds: Seconds
    """CPU time of the worker and of all that it started, in seconds."""
    threads_busy: NonNegative
    """The same as cores."""
    threads_runnable: NonNegative | None
    """Cores that the worker would have used had it waited for none."""
    tasks: Count | None
    """Threads of the worker at the end."""
    run_delay_seconds: Seconds | None
    """How long its threads waited for a core together, in seconds."""
    run_delay_share: Ratio | None
    """The same as a share of the time in which they were runnable."""
    orchestrator_cores: NonNegative | None
    """Cores that the orchestrator used."""
    foreign_cores: NonNegative | None
    """Cores that other processes used."""
    foreign_unnamed_cores: NonNegative | None
    """Those of them that have ended or are not visible here."""
    foreign: list[ForeignProcess] | None
    """The largest of the others; null where the machine does not tell."""
    voluntary_switches: Count
    """How often the worker's threads waited of their own accord."""
    involuntary_switches: Count
    """How often the kernel took the core away from them."""
    minor_faults: Count
    """Pages that the worker touched for the first time."""
    minor_faults_per_step: NonNegative | None
    """The same per step."""
    major_faults: Count
    """Pages that came from a disk."""
    throttled_periods: Count | None
    """Periods in which the control group stood still."""
    throttled_seconds: Seconds | None
    """How long it did, in seconds."""
    disk_read_bytes_by_others: Count | None
    """What other processes read from disks, in bytes."""
    disk_written_bytes_by_others: Count | None
    """What other processes wrote to disks, in bytes."""
    wall_clock_jump_seconds: Annotated[Number, unit("s")]
    """By how much the clock of the day moved against the one that times steps, in seconds."""
    clock_source: str | None
    """What the kernel's clock is read from."""
    frequency_mhz: Frequency
    thermal_throttles: Count | None
    """How often a core slowed down for heat."""


class Checkpoints(Group, frozen=True, kw_only=True):
    """The same in the course of it, a list for each counter."""

    cpus: Positive
    """Logical cores of the machine."""
    step: list[Count]
    """Number of steps done at each checkpoint."""
    seconds: list[Seconds]
    """When it was, in seconds since the first."""
    run_delay_seconds: list[Seconds | None]
    """How long the busiest threads had waited for a core, in seconds."""
    involuntary_switches: list[Count]
    """How often the kernel had taken the core away."""
    own_cpu_seconds: list[Seconds]
    """CPU time of the worker, in seconds."""
    busy_seconds: Annotated[list[Number | None], unit("s")]
    """CPU time of all processes since boot, in seconds."""
    stolen_seconds: list[Seconds | None]
    """What a hypervisor had given to others, in seconds."""


class Speed(Group, frozen=True, kw_only=True):
    """Which share of its own speed the machine had, by known work outside of timed samples; null if that was not
    probed (since 1.5)."""

    kernel: str
    """The known work."""
    probes: Positive
    """How often its arithmetic was timed."""
    arithmetic_seconds: Seconds
    """What it took, median, in seconds."""
    arithmetic_slowest_seconds: Seconds
    """What it took at most, in seconds."""
    memory_seconds: Seconds
    """What its memory traffic took, median of both ends, in seconds."""
    interpreter_seconds: Seconds | None = since("1.9")
    """What its statements of Python took, median of both ends, in seconds: as much of the interpreter's version and
    build as of the machine (since 1.9)."""
    arithmetic_share: Fraction | None
    """What a quarter of the probes before took at most under like conditions, over arithmetic_seconds; null in the
    first run."""
    memory_share: Fraction | None
    """The same of memory_seconds."""
    share: Fraction | None
    """The smaller of both."""


class Trust(Group, frozen=True, kw_only=True):
    """Whether the run was disturbed, how well its number is known, and what the run does to it; null if nothing
    was timed (since 1.2)."""

    grade: Literal["clean", "noisy", "contaminated"]
    """How much the run was disturbed from outside: the worst severity of the reasons; 'clean' without one
    (before 1.5: of all that spoke against the numbers)."""
    reasons: list[Reason]
    """What disturbed it, the worst first."""
    evidence: Evidence | None
    checkpoints: Checkpoints | None
    doctor: dict[str, list[str]] = since("1.2")
    """What the quick checks of 'doctor' warned of, and what they could not find out, by name."""
    findings: list[Finding] = since("1.5")
    """What the run does to its own numbers, what excludes them from comparisons first (since 1.5)."""
    precision: Precision | None = since("1.5")
    speed: Speed | None = since("1.5")
