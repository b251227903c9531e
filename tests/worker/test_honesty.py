"""Checks of honesty A1, A2, C1, C2 and C4 to C6: the sampler reports what was; each check finds planted faults.

A1 and A2 are on a virtual clock, so they are exact. What is compared on real clocks is compared with what the
step itself saw, or by CPU time, so that nobody else on the machine decides.
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest

from benchmarker.machine.findings import findings
from benchmarker.worker.measurement.overhead import costs
from benchmarker.worker.measurement.sampling import Samples, sample
from tests.support.faulty_samplers import FAULTS, Sampler, faulty

BLOCKS = {"latency": 1, "throughput": 4}
COUNT = 22
"""Steps: the last block of four has two."""


@dataclass
class Stage:
    """Everything on the timed path, on a clock that only moves as it is told to; notes every call."""

    now: int = 12_345
    calls: list[str] = field(default_factory=list)
    steps: int = 0

    STEP, FEED, SYNCHRONISE, CLOCK, PULSE = 60_000_001, 5_003, 701, 13, 90_007

    def _pass(self, call: str, nanoseconds: int) -> None:
        self.calls.append(call)
        self.now += nanoseconds

    def clock(self) -> int:
        self._pass("clock", self.CLOCK)
        return self.now

    def feed(self) -> int:
        self._pass("feed", self.FEED)
        return self.steps

    def step(self, batch: int) -> int:
        self._pass("step", self.STEP + 7 * self.steps)
        self.steps += 1
        return self.steps

    def synchronize(self, output: int) -> None:
        self._pass(f"synchronise {output}", self.SYNCHRONISE)

    def pulse(self, done: int, seconds: float, output: object) -> None:
        self._pass("pulse", self.PULSE)

    def sample(self, sampler: Sampler, block_steps: int, **how: Any) -> Samples:
        return sampler(
            self.step, self.synchronize, self.feed, COUNT,
            block_steps=block_steps, clock=self.clock, pulse=self.pulse, **how,
        )  # fmt: skip


def until_the_count(step: Any, synchronize: Any, feed: Any, count: int, **how: Any) -> Samples:
    """Fill a window in which so many steps begin."""
    return sample(step, synchronize, feed, seconds=(count - 1) * Stage.STEP / 1e9, **how)


# --- A1: what is stored is what was, to the nanosecond ---------------------------------------------


def accounted(sampler: Sampler, block_steps: int) -> bool:
    """Return whether samples, seconds and the time in all are exactly what passed."""
    stage = Stage()
    samples = stage.sample(sampler, block_steps)
    steps = [Stage.STEP + 7 * i for i in range(stage.steps)]
    blocks = [steps[i : i + block_steps] for i in range(0, len(steps), block_steps)]
    expected = [sum(block) + Stage.SYNCHRONISE + Stage.CLOCK for block in blocks]
    fed = Stage.FEED * stage.steps
    pulses = stage.calls[: _last(stage.calls, "clock")].count("pulse")
    clocks = stage.calls.count("clock") - 1 - (stage.calls[-1] == "clock" and stage.calls[-2] == "pulse")
    in_all = sum(steps) + Stage.SYNCHRONISE * len(blocks) + fed + Stage.PULSE * pulses + Stage.CLOCK * clocks
    return (
        list(samples.nanoseconds) == expected
        and samples.steps == stage.steps
        and samples.seconds == [value / len(block) / 1e9 for value, block in zip(expected, blocks)]
        and samples.total_seconds == sum(expected) / 1e9
        and samples.wall_nanoseconds == in_all
        and samples.output == stage.steps
    )


def _last(calls: list[str], what: str) -> int:
    """Return where the call is for the last time, but for the one that follows the last pulse."""
    found = len(calls) - 1 - calls[::-1].index(what)
    return _last(calls[:found], what) if calls[found - 1] == "pulse" else found


@pytest.mark.parametrize("sampler", [sample, until_the_count])
@pytest.mark.parametrize("mode", BLOCKS)
def test_a1_samples_are_exactly_what_passed(mode: str, sampler: Sampler) -> None:
    assert accounted(sampler, BLOCKS[mode])


# --- A2: nothing but steps and their synchronisation is timed --------------------------------------


def ordered(sampler: Sampler, block_steps: int) -> bool:
    """Return whether each sample is ``clock, step ..., synchronise, clock``, and all else is outside."""
    stage = Stage()
    stage.sample(sampler, block_steps)
    wanted = []
    for first in range(0, COUNT, block_steps):
        length = min(block_steps, COUNT - first)
        wanted.append(
            ["feed"] * length + ["clock", *["step"] * length, f"synchronise {first + length}", "clock"]
        )
    calls = iter(stage.calls[1:])
    for part in wanted:
        if list(itertools.islice(calls, len(part))) != part:
            return False
        calls = itertools.chain(_without_pulse(calls))
    return list(calls) == []


def _without_pulse(calls: Any) -> Any:
    """Leave out a pulse and the reading of the clock after it."""
    for call in calls:
        if call != "pulse":
            yield call
            break
        next(calls)
    yield from calls


@pytest.mark.parametrize("mode", BLOCKS)
def test_a2_nothing_else_is_between_the_readings_of_the_clock(mode: str) -> None:
    assert ordered(sample, BLOCKS[mode])


@pytest.mark.parametrize("fault", FAULTS)
def test_a1_and_a2_would_find_a_faulty_sampler(fault: str) -> None:
    verdicts = [check(faulty(fault), block) for check in (accounted, ordered) for block in BLOCKS.values()]
    assert not all(verdicts)


def test_a1_and_a2_have_nothing_against_the_same_sampler_without_a_fault() -> None:
    assert all(ordered(faulty(""), block) for block in BLOCKS.values())
    assert list(Stage().sample(faulty(""), 4).nanoseconds) == list(Stage().sample(sample, 4).nanoseconds)


# --- C1, C2: known waits ---------------------------------------------------------------------------


class Wait:
    """Waits for so long, busy or asleep, and notes how long it really took."""

    def __init__(self, seconds: float, asleep: bool) -> None:
        self.nanoseconds = int(seconds * 1e9)
        self.taken: list[int] = []
        self._asleep = asleep

    def __call__(self, _: Any) -> None:
        start = time.perf_counter_ns()
        if self._asleep:
            time.sleep(self.nanoseconds / 1e9)
        while time.perf_counter_ns() - start < self.nanoseconds:
            pass
        self.taken.append(time.perf_counter_ns() - start)


def nothing(_: Any = None) -> None:
    """What costs no time."""


UNNOTICED_NS = 30_000
"""After a long wait the caches are others': on a loaded machine even the least excess is some microseconds."""


def excess_ns(sampler: Sampler, wait: Wait, steps: int, *, device: bool, block_steps: int = 1) -> float:
    """Return by how much a sample exceeds the waits in it at least; infinite if one falls short of its waits.

    What is counted in wrongly is in every sample, others' load in some.

    Parameters
    ----------
    device : bool
        Whether the wait is in the synchronisation, as with a device that computes behind the host's back.
    """
    step, synchronize = (nothing, wait) if device else (wait, nothing)
    samples = sampler(step, synchronize, nothing, steps, block_steps=block_steps)
    waits = [sum(wait.taken[i : i + block_steps]) for i in range(0, len(wait.taken), block_steps)]
    if device:
        waits = wait.taken
    differences = [ours - own for ours, own in zip(samples.nanoseconds, waits)]
    asked = wait.nanoseconds * (1 if device else block_steps)
    if len(differences) * block_steps != steps or min(differences) < 0 or min(samples.nanoseconds) < asked:
        return float("inf")
    return min(differences)


@pytest.mark.parametrize("device", [False, True], ids=["in the step", "on a device"])
@pytest.mark.parametrize(("seconds", "steps"), [(0.001, 60), (0.01, 20)])
def test_c1_a_busy_wait_is_reported_as_long_as_it_was(seconds: float, steps: int, device: bool) -> None:
    assert excess_ns(sample, Wait(seconds, asleep=False), steps, device=device) < UNNOTICED_NS


@pytest.mark.parametrize("device", [False, True], ids=["in the step", "on a device"])
@pytest.mark.parametrize("block_steps", [1, 5])
def test_c2_a_sleep_is_never_reported_shorter_than_it_was_asked_for(block_steps: int, device: bool) -> None:
    wait = Wait(0.01, asleep=True)
    assert excess_ns(sample, wait, 20, device=device, block_steps=block_steps) < 1_000_000


@pytest.mark.parametrize(
    "fault", ["does not synchronise", "synchronises after the clock", "times the calls alone"]
)
def test_c1_and_c2_would_find_that_a_device_is_not_waited_for(fault: str) -> None:
    for asleep in (False, True):
        assert excess_ns(faulty(fault), Wait(0.001, asleep), 10, device=True) == float("inf")


def test_c1_would_find_that_feeding_is_timed() -> None:
    def slowly(_: Any = None) -> None:
        Wait(50e-6, asleep=False)(None)

    wait = Wait(0.001, asleep=False)
    samples = faulty("feeds in the timed region")(wait, nothing, slowly, 20)
    assert min(o - w for o, w in zip(samples.nanoseconds, wait.taken)) > UNNOTICED_NS


def test_c1_would_find_that_a_cost_is_taken_off() -> None:
    wait = Wait(0.001, asleep=False)
    assert excess_ns(faulty("takes off what the clock costs"), wait, 20, device=False) == float("inf")


# --- C4: a step that does nothing ------------------------------------------------------------------


def null_step_seconds(clock: Callable[[], int]) -> float:
    """Return what is reported for a step that does nothing, the least of several times."""
    return min(sample(nothing, nothing, nothing, 2000, clock=clock).median_seconds for _ in range(5))


def flagged(sample_seconds: float, overhead_seconds: float | None) -> bool:
    """Return whether the grade says that the clock is too coarse for the samples."""
    quiet = {"foreign_cores": 0.0, "run_delay_share": 0.0, "seconds": 1.0}
    seen = {"sample_seconds": sample_seconds, "overhead_seconds": overhead_seconds}
    return any(finding["kind"] == "timer" for finding in findings(quiet, seen))


def test_c4_a_null_step_takes_less_than_a_microsecond_and_is_flagged() -> None:
    reported = null_step_seconds(time.perf_counter_ns)
    assert reported < 1e-6
    assert flagged(reported, costs(nothing, None).sample_seconds)
    assert not flagged(0.01, costs(nothing, None).sample_seconds)


def test_c4_would_find_a_slow_clock_and_costs_that_are_not_told() -> None:
    def slow() -> int:
        Wait(5e-6, asleep=False)(None)
        return time.perf_counter_ns()

    assert null_step_seconds(slow) > 1e-6
    assert not flagged(1e-7, None)


# --- C5, C6: more work takes more time, and blocks take what their steps take ----------------------

PIECE = bytes(1 << 15)
ATTEMPTS = 3
"""Others' load moves a median now and then; what a planted fault does is there every time."""


def hashing(times: int) -> Callable[[Any], None]:
    """Return a step of so many pieces of work."""

    def step(_: Any) -> None:
        for _ in range(times):
            sha256(PIECE).digest()

    return step


def scaling(sampler: Sampler, feed: Callable[[], Any] = nothing, rounds: int = 400) -> dict[int, float]:
    """Return how often as long as one piece of work 2 and 4 take, by CPU time: medians over rounds."""
    found: dict[int, list[float]] = {2: [], 4: []}
    order = random.Random(5)
    for _ in range(rounds):
        seconds = {}
        for factor in order.sample((1, 2, 4), 3):
            taken = sampler(hashing(5 * factor), nothing, feed, 1, clock=time.thread_time_ns)
            seconds[factor] = taken.median_seconds
        for factor in found:
            found[factor].append(seconds[factor] / seconds[1])
    return {factor: statistics.median(ratios) for factor, ratios in found.items()}


def scales(sampler: Sampler, feed: Callable[[], Any] = nothing) -> bool:
    """Return whether twice and four times the work take twice and four times as long."""
    return any(scaling(sampler, feed) == pytest.approx({2: 2.0, 4: 4.0}, rel=0.03) for _ in range(ATTEMPTS))


@pytest.mark.alone
def test_c5_time_grows_with_the_work() -> None:
    assert scales(sample)


def test_c5_would_find_that_something_else_is_timed() -> None:
    assert not scales(faulty("feeds in the timed region"), feed=lambda: hashing(3)(None))


BLOCK_STEPS = 4


def block_over_steps(sampler: Sampler, rounds: int = 50) -> float:
    """Return what a step takes in a block over what it takes alone, by CPU time: the median over pairs."""
    step, order, found = hashing(50), random.Random(6), []
    for _ in range(rounds):
        seconds = {}
        for block_steps in order.sample((1, BLOCK_STEPS), 2):
            taken = sampler(
                step, nothing, nothing, BLOCK_STEPS, block_steps=block_steps, clock=time.thread_time_ns
            )
            seconds[block_steps] = taken.total_seconds
        found.append(seconds[BLOCK_STEPS] / seconds[1])
    return statistics.median(found)


def block_is_its_steps(sampler: Sampler) -> bool:
    """Return whether a step takes as long in a block as alone, within half a percent."""
    return any(abs(block_over_steps(sampler) - 1) <= 0.005 for _ in range(ATTEMPTS))


@pytest.mark.alone
def test_c6_a_block_takes_as_long_as_its_steps() -> None:
    assert block_is_its_steps(sample)


def test_c6_would_find_a_block_of_which_some_is_not_timed() -> None:
    def early(step: Any, *rest: Any, block_steps: int, **how: Any) -> Samples:
        """Leave out four of the two hundred pieces of a block: two percent."""
        left = itertools.count(1)

        def most(batch: Any) -> None:
            is_last = block_steps > 1 and next(left) % block_steps == 0
            (hashing(46) if is_last else step)(batch)

        return sample(most, *rest, block_steps=block_steps, **how)

    assert not block_is_its_steps(early)
