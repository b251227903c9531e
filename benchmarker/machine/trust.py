"""Whether a run was disturbed from outside, by what the machine did while it was measured.

Evidence flags; it never corrects, and no sample is left out for it. How well the number is known is another
question (:mod:`benchmarker.records.precision`), and what the run does to it a third
(:mod:`benchmarker.machine.findings`).

Each kind of evidence has a limit above which a run is ``noisy``; where the last column has one, ``contaminated``
above that. A run is graded by its worst reason, ``clean`` without one.

====================  ==========================================================  ============  ============
kind                  value                                                       noisy above   contaminated
====================  ==========================================================  ============  ============
steal                 share of the cores' time that a hypervisor gave to others   0.5 %         5 %
run_delay             share of time in which the worker waited for others' core   1 %           10 %
cpu_pressure          share of time in which a task waited, as far as by others   5 %           50 %
io_pressure           ... for a disk                                              5 %           50 %
memory_pressure       ... for memory                                              5 %           20 %
foreign_load          cores used by others                                        0.1           0.5
orchestrator_load     cores used by the orchestrator                              0.05          0.5
throttled             share of time in which the control group stood still        0             1 %
disk_reads            bytes per second that others read from disks                10 MB/s
disk_writes           bytes per second that others wrote to disks                 10 MB/s
clock_jump            seconds by which the clock of the day jumped                0.1 s
thermal               times that a core slowed down for heat                      0
clock_source          the kernel's clock is not the processor's counter           always
gpu_processes         other processes on the GPUs                                               0
slow_machine          share of its own speed that the machine lacked              20 %          50 %
same_work             share of CPU time beyond what calm steps take, in episodes  3 %           20 %
disturbed             the steady state's verdict                                  always
unknown               the machine tells nothing of what it did                    always
====================  ==========================================================  ============  ============

The limits are those of nvbench, pyperf and of experiments of ours: in 78 to 87 % of the steps that were more
than half slower than the median, the worker had waited for a core. It waits for its own threads too, where it has more
of them than there are cores; only what others can have caused, which is at most the time that they used cores, counts
as a disturbance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.machine.same_work import excess
from benchmarker.quick_dataclass import dataclass

GRADES = ("clean", "noisy", "contaminated")
"""The best first."""
MIN_TICK_SECONDS = 0.05
"""Times that the kernel counts in ticks of 10 ms are not believed below five of them."""
MIN_DISK_BYTES = 16e6
MIN_RUN_DELAY_SECONDS = 2e-4
PROCESSOR_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase")
"""Clocks that are read without a system call."""


@dataclass(frozen=True)
class Limit:
    """Above which value a kind of evidence makes a run noisy, and above which contaminated."""

    noisy: float
    contaminated: float = math.inf


def worst(grades: Iterable[str | None]) -> str | None:
    """Return the worst of some grades, None where none is known."""
    return max(filter(None, grades), key=GRADES.index, default=None)


LIMITS: Mapping[str, Limit] = {
    "steal": Limit(0.005, 0.05),
    "run_delay": Limit(0.01, 0.1),
    "cpu_pressure": Limit(0.05, 0.5),
    "io_pressure": Limit(0.05, 0.5),
    "memory_pressure": Limit(0.05, 0.2),
    "foreign_load": Limit(0.1, 0.5),
    "orchestrator_load": Limit(0.05, 0.5),
    "throttled": Limit(0.0, 0.01),
    "disk_reads": Limit(10e6),
    "disk_writes": Limit(10e6),
    "clock_jump": Limit(0.1),
    "thermal": Limit(0),
    "gpu_processes": Limit(0, 0),
    "slow_machine": Limit(0.2, 0.5),
    "same_work": Limit(0.03, 0.2),
}


DISTURBANCES = frozenset((*LIMITS, "clock_source", "disturbed", "unknown"))
"""All kinds of reasons."""


@dataclass(frozen=True)
class Reason:
    """One thing that disturbed a run.

    Parameters
    ----------
    kind : str
        As in the table above.
    severity : {"noisy", "contaminated"}
        What it makes of the run.
    text : str
        What it was.
    value, limit : float or None
        What was found, and above what it counts; ``None`` where there is no number.
    """

    kind: str
    severity: str
    text: str
    value: float | None = None
    limit: float | None = None


def grade(
    evidence: Mapping[str, Any],
    steady_state: str | None = None,
    gpus: Sequence[Mapping[str, Any]] = (),
    speed: Mapping[str, Any] | None = None,
    checkpoints: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return how much a run was disturbed from outside, and by what.

    Parameters
    ----------
    evidence : mapping
        What :func:`benchmarker.worker.measurement.evidence.between` told; what it does not know is ``None``.
    steady_state : str, optional
        The kind of its steady state.
    gpus : sequence of mapping
        Those of the run, as the collector ``gpus`` tells of them.
    speed : mapping, optional
        What :func:`benchmarker.machine.speed.speed` told.
    checkpoints : mapping, optional
        As of :func:`disturbed`.

    Returns
    -------
    dict
        ``grade`` and ``reasons``, the worst first.
    """
    reasons = [reason for find in _FINDERS for reason in find(evidence)]
    if steady_state == "disturbed":
        text = "the speed of steps changed while the machine was disturbed"
        reasons.append(Reason("disturbed", "noisy", text))
    reasons += [*_gpu_processes(gpus), *_slow_machine(speed or {}), *_same_work(checkpoints or {})]
    return graded([asdict(reason) for reason in reasons])


def graded(reasons: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the grade that reasons give, and these, the worst first."""
    ordered = sorted(reasons, key=lambda reason: -GRADES.index(reason["severity"]))
    return {"grade": ordered[0]["severity"] if ordered else GRADES[0], "reasons": ordered}


def anonymous(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evidence without the names of other processes."""
    foreign = evidence.get("foreign")
    return {**evidence, "foreign": foreign and [{**process, "name": None} for process in foreign]}


Found = Iterator[Reason]
_Finder = Callable[[Mapping[str, Any]], Found]


def _above(kind: str, value: float | None, text: str) -> Found:
    """Yield a reason if the value is above its kind's limit."""
    limit = LIMITS[kind]
    if value is None or value <= limit.noisy:
        return
    if value > limit.contaminated:
        yield Reason(kind, "contaminated", text, value, limit.noisy)
    else:
        yield Reason(kind, "noisy", text, value, limit.noisy)


def _unknown(evidence: Mapping[str, Any]) -> Found:
    if evidence.get("foreign_cores") is None and evidence.get("run_delay_share") is None:
        yield Reason(
            "unknown", "noisy", "this system does not show what else the machine was doing (it has no /proc)"
        )


def _steal(evidence: Mapping[str, Any]) -> Found:
    share = evidence.get("steal_share")
    if share and share * evidence["seconds"] * evidence["cpus"] >= MIN_TICK_SECONDS:
        yield from _above("steal", share, f"a hypervisor gave {percent(share)} of the cores' time to others")


def waiting_for_others(waited: float, own: float, others: float | None, seconds: float) -> float:
    """Return how much of the time that a worker's threads waited for a core others can have caused.

    One thread at a time waits for nobody of its own; several wait for each other, beyond what others used.

    Parameters
    ----------
    waited : float
        Seconds of all threads together.
    own, others : float
        CPU seconds that the worker, and all others, used; ``None``: not known.
    seconds : float
        How long it was.
    """
    if others is None or own + waited <= seconds:
        return waited
    return min(waited, others) if others >= MIN_TICK_SECONDS else 0.0


def others_seconds(evidence: Mapping[str, Any]) -> float | None:
    """Return the CPU seconds of all processes but the worker's; ``None`` if that is not known."""
    foreign = evidence.get("foreign_cores")
    if foreign is None:
        return None
    return float((foreign + (evidence.get("orchestrator_cores") or 0.0)) * evidence["seconds"])


def waiting(evidence: Mapping[str, Any]) -> Found:
    """Yield what is to be said of waiting for cores, as far as others have caused it."""
    waited, seconds, others = evidence.get("run_delay_seconds"), evidence["seconds"], others_seconds(evidence)
    if waited is not None and waited > MIN_RUN_DELAY_SECONDS:
        share = evidence.get("run_delay_share") or 0.0
        share *= waiting_for_others(waited, evidence["own_cpu_seconds"], others, seconds) / waited
        text = f"the worker's threads spent {percent(share)} of the time waiting for a core that others used"
        yield from _above("run_delay", share, text)
    share = evidence.get("cpu_pressure_share")
    if share is not None and others is not None:
        # Whoever waits beyond the time that others used cores waits for the worker, or is the worker.
        share = min(share, others / seconds) if others >= MIN_TICK_SECONDS else 0.0
    text = f"tasks on this machine waited for a core {percent(share or 0.0)} of the time"
    yield from _above("cpu_pressure", share, text)


def _pressure(evidence: Mapping[str, Any]) -> Found:
    for resource, what in (("io", "a disk"), ("memory", "memory")):
        share = evidence.get(f"{resource}_pressure_share")
        text = f"tasks on this machine waited for {what} {percent(share or 0.0)} of the time"
        yield from _above(f"{resource}_pressure", share, text)


def _load(evidence: Mapping[str, Any]) -> Found:
    seconds = evidence.get("seconds") or 0.0
    foreign = evidence.get("foreign_cores")
    if foreign is not None and foreign * seconds >= MIN_TICK_SECONDS:
        yield from _above("foreign_load", foreign, _foreign_text(evidence, foreign))
    orchestrator = evidence.get("orchestrator_cores")
    if orchestrator is not None and orchestrator * seconds >= MIN_TICK_SECONDS:
        text = f"benchmarker itself used {orchestrator:.2f} cores besides the worker's"
        yield from _above("orchestrator_load", orchestrator, text)


def _foreign_text(evidence: Mapping[str, Any], foreign: float) -> str:
    """Name those who used the cores, the unknown rest if it is a part worth telling."""
    named = [
        f"{process['name'] or 'a process'} (pid {process['pid']}) used {process['cores']:.2f} cores"
        for process in evidence.get("foreign") or ()
        if process["cores"] >= LIMITS["foreign_load"].noisy / 2
    ]
    rest = evidence.get("foreign_unnamed_cores") or 0.0
    if rest >= LIMITS["foreign_load"].noisy / 2:
        named.append(f"processes that have ended or are not visible here used {rest:.2f} cores")
    return ", ".join(named) or f"other processes together used {foreign:.2f} cores"


def _throttled(evidence: Mapping[str, Any]) -> Found:
    periods, stopped = evidence.get("throttled_periods"), evidence.get("throttled_seconds")
    if not periods or stopped is None:
        return
    seconds = evidence["seconds"]
    text = f"the control group was throttled {times(periods)}, {stopped:.1f} s of {seconds:.1f} s"
    yield from _above("throttled", stopped / seconds, text)


def _disks(evidence: Mapping[str, Any]) -> Found:
    for kind, name, what in (
        ("disk_reads", "read", "read {} from"),
        ("disk_writes", "written", "wrote {} to"),
    ):
        moved = evidence.get(f"disk_{name}_bytes_by_others")
        if moved is None or moved < MIN_DISK_BYTES:
            continue
        amount = what.format(f"{moved / 1e6:.0f} MB")
        text = f"another process {amount} disk during the timed part"
        yield from _above(kind, moved / evidence["seconds"], text)


def _clocks(evidence: Mapping[str, Any]) -> Found:
    jump = evidence.get("wall_clock_jump_seconds") or 0.0
    text = f"the system clock was set {'forward' if jump > 0 else 'back'} by {abs(jump):.1f} s"
    yield from _above("clock_jump", abs(jump), f"{text} (steps are timed by another clock)")
    source = evidence.get("clock_source")
    if source is not None and source not in PROCESSOR_CLOCKS:
        yield Reason("clock_source", "noisy", f"the kernel's clock is '{source}', which is slow to read")


def _heat(evidence: Mapping[str, Any]) -> Found:
    throttles = evidence.get("thermal_throttles")
    yield from _above("thermal", throttles, f"cores were slowed down by heat {times(throttles or 0)}")


_FINDERS: tuple[_Finder, ...] = (
    _unknown,
    _throttled,
    _load,
    waiting,
    _pressure,
    _steal,
    _disks,
    _heat,
    _clocks,
)


def _gpu_processes(gpus: Sequence[Mapping[str, Any]]) -> list[Reason]:
    found: list[Reason] = []
    for gpu in gpus:
        others = gpu.get("other_processes")
        what = "another process" if others == 1 else f"{others} other processes"
        found += _above("gpu_processes", others, f"{what} used GPU {gpu.get('index', '')}".rstrip())
    return found


def _slow_machine(speed: Mapping[str, Any]) -> Found:
    share = speed.get("share")
    if share is None:
        return
    kind = "arithmetic" if speed["arithmetic_share"] == share else "memory traffic"
    text = f"the machine ran at {percent(share)} of the best speed it has shown, judged by known {kind} between steps"
    yield from _above("slow_machine", 1 - share, text)


def _same_work(checkpoints: Mapping[str, Any]) -> Found:
    found = excess(checkpoints)
    if found is None:
        return
    text = f"for {found.seconds:.1f} s, the same steps took {percent(found.rise)} more CPU time than when undisturbed"
    yield from _above("same_work", found.share, text)


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %" if share >= 0.001 else f"{100 * share:.2g} %"


def times(count: int) -> str:
    """Write how often something was."""
    return "once" if count == 1 else f"{count} times"


def disturbed(checkpoints: Mapping[str, Any], first_step: int, last_step: int) -> bool:
    """Tell whether the machine disturbed the steps from ``first_step`` up to, not including, ``last_step``.

    It did if within the checkpoints around them the worker waited for a core, others used the cores, or a
    hypervisor took them away, each beyond what makes a run noisy.

    Parameters
    ----------
    checkpoints : mapping
        What :meth:`benchmarker.worker.measurement.evidence.Checkpoints.to_json` told.
    """
    steps = checkpoints.get("step") or ()
    before = max((i for i, step in enumerate(steps) if step <= first_step), default=0)
    after = min((i for i, step in enumerate(steps) if step >= last_step), default=len(steps) - 1)
    if after <= before:
        return False

    def passed(name: str) -> float | None:
        low, high = checkpoints[name][before], checkpoints[name][after]
        return None if low is None or high is None else max(high - low, 0.0)

    seconds, own = passed("seconds") or 0.0, passed("own_cpu_seconds") or 0.0
    if seconds <= 0:
        return False
    waited, busy, stolen = (
        passed("run_delay_seconds") or 0.0,
        passed("busy_seconds"),
        passed("stolen_seconds"),
    )
    others = None if busy is None else max(busy - own, 0.0)
    runnable = max((own + waited) / seconds, 1.0)
    counted = {
        "foreign_load": others or 0.0,
        "steal": (stolen or 0.0) / checkpoints["cpus"],
    }
    delay = waiting_for_others(waited, own, others, seconds)
    return delay / seconds / runnable > LIMITS["run_delay"].noisy or any(
        lost >= MIN_TICK_SECONDS and lost / seconds > LIMITS[kind].noisy for kind, lost in counted.items()
    )
