"""What the harness adds to a step: ``benchmarker.worker.measurement.sampling.sample`` against a bare loop.

Both run the same step in this process, in alternating blocks whose order is drawn at random each time.
The step hashes a buffer whose size is chosen for the target time; it needs one core and always as much.
``python benchmarks/overhead.py``
"""

from __future__ import annotations

import hashlib
import random
import statistics
import sys
import time
from collections.abc import Callable

from rows import Row, finish, make_parser, nanoseconds, ratio

from benchmarker.worker.measurement.sampling import freeze_gc, sample

GOALS = {1e-3: 1.002, 1e-4: 1.01}
BLOCK_SECONDS = 0.01
"""Long against the clock, short against the machine's moods."""
NULL_STEPS = 20_000


def hash_buffer(buffer: bytes) -> bytes:
    """The step: compute-bound, without locks or allocation that grows."""
    return hashlib.sha256(buffer).digest()


def nothing(_: object) -> None:
    """Return at once; also what closes a step on a CPU."""


def sized_for(target: float) -> bytes:
    """Return a buffer that takes about ``target`` seconds to hash."""
    trial = bytes(1 << 18)
    quickest = min(_bare(hash_buffer, trial, 1) for _ in range(50))
    return bytes(max(1, int(len(trial) * target / quickest)))


def _bare(step: Callable[[bytes], object], batch: bytes, count: int) -> float:
    """Return seconds per step in a loop that does nothing else, the clock read twice in all."""
    start = time.perf_counter_ns()
    for _ in range(count):
        step(batch)
    return (time.perf_counter_ns() - start) / count / 1e9


def _bare_median(step: Callable[[bytes], object], batch: bytes, count: int) -> float:
    """Return the median step in seconds of the plainest loop that times each."""
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        step(batch)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e9


def _through_us(step: Callable[[bytes], object], batch: bytes, count: int) -> float:
    """Return seconds per step that pass while the harness takes its samples."""
    start = time.perf_counter_ns()
    sample(step, nothing, lambda: batch, count)
    return (time.perf_counter_ns() - start) / count / 1e9


def _our_median(step: Callable[[bytes], object], batch: bytes, count: int) -> float:
    """Return the median step in seconds that the harness reports."""
    return statistics.median(sample(step, nothing, lambda: batch, count).nanoseconds) / 1e9


def compare(target: float, pairs: int, order: random.Random) -> list[Row]:
    """Return the rows of one step size."""
    batch = sized_for(target)
    count = max(1, round(BLOCK_SECONDS / target))
    loops = (_our_median, _bare_median, _through_us, _bare)
    found: dict[Callable[..., float], list[float]] = {loop: [] for loop in loops}
    for _ in range(pairs):
        for loop in order.sample(loops, len(loops)):
            found[loop].append(loop(hash_buffer, batch, count))
    name = f"step of {statistics.median(found[_bare]) * 1e6:.0f} us"
    return [
        Row(f"{name}, {what}", [x / y for x, y in zip(found[ours], found[bare])], GOALS[target], ratio)
        for what, ours, bare in (
            ("median step: ours / bare", _our_median, _bare_median),
            ("time that passes: ours / bare", _through_us, _bare),
        )
    ]


def null_step(pairs: int) -> list[Row]:
    """Return what a step that does nothing costs, beyond the same step in a bare loop."""
    reported, beyond = [], []
    for _ in range(pairs):
        bare = _bare(nothing, b"", NULL_STEPS)
        reported.append(_our_median(nothing, b"", NULL_STEPS))
        beyond.append(_through_us(nothing, b"", NULL_STEPS) - bare)
    return [
        Row("empty step as reported", reported, None, nanoseconds),
        Row("harness's own time a step", beyond, None, nanoseconds),
    ]


def main() -> int:
    """Compare and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=400, help="blocks of each loop, for each step size")
    arguments = parser.parse_args()
    order = random.Random(0)
    freeze_gc()
    rows = [row for target in GOALS for row in compare(target, arguments.pairs, order)]
    return finish(rows + null_step(max(6, arguments.pairs // 20)), arguments)


if __name__ == "__main__":
    sys.exit(main())
