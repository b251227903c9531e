"""How long does a step wait for its mini-batch if that is made in place, in a thread, in a process beside it?

Images of 3 x 64 x 64 are flipped, cropped, partly covered and normalized, 128 to a mini-batch. The step either waits,
as one for a device does, or multiplies matrices, in both cases about twice as long as a mini-batch takes to make. The
first mini-batches, which nothing could be made ahead of, are left out. ``python benchmarks/prefetching.py``
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rows import Row, finish, make_parser, ratio

GOAL = 0.2
"""Of the wait in place, beside a device; a step on the CPU may have no core to spare. A process is waited for as long
as it takes to copy a mini-batch out of the memory that is shared with it."""
COUNT, CLASSES, BATCH_SIZE, SIDE = 2048, 10, 128, 64
STEPS, LEFT_OUT = 15, 4
AUGMENTATION = (
    {"name": "flip"},
    {"name": "crop", "padding": 4},
    {"name": "cutout", "size": 16},
    {"name": "normalize", "over": "channel"},
)


def milliseconds(value: float) -> str:
    """Write a time within a step."""
    return f"{value * 1e3:.2f} ms"


def prepared_folder() -> str:
    """Return the folder of a data set of random images, prepared as any other."""
    import numpy as np

    from benchmarker.api import from_pixels
    from benchmarker.data.prepared import prepare

    pixels = np.random.default_rng(0).integers(0, 256, (COUNT, 3, SIDE, SIDE)).astype(np.uint8)
    data = from_pixels("random", pixels, np.arange(COUNT) % CLASSES, CLASSES, "drawn", ())
    return str(prepare("random", lambda _: data, None).folder)


def steps(seconds: float) -> dict[str, Callable[[], None]]:
    """Return what a step does beside taking its mini-batch: of about that length where nothing else runs."""
    import numpy as np

    matrix = np.ones((256, 256), np.float32)

    def products(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            matrix @ matrix
        return time.perf_counter() - began

    count = round(seconds / min(products(1) for _ in range(200)))

    def wait() -> None:
        time.sleep(seconds)

    def compute() -> None:
        products(count)

    return {"a device": wait, "a step on the CPU": compute}


class Fed(NamedTuple):
    """Medians of an epoch: what a step waited, and what it took with that."""

    wait: float
    whole: float


def fed(folder: str, prefetch: str, step: Callable[[], None]) -> Fed:
    """Return what steps waited and took."""
    from benchmarker.data.batch_inputs import BatchInputs
    from benchmarker.data.feeding import TrainingFeed
    from benchmarker.data.training_batches import FeedSpec

    inputs = BatchInputs("images", "image", (3, SIDE, SIDE), label="label")
    batches = FeedSpec(folder, inputs, BATCH_SIZE, 1, augmentation=AUGMENTATION).open()
    ends = []
    with TrainingFeed(batches, count=STEPS, prefetch=prefetch) as feed:
        for _ in feed:
            step()
            ends.append(time.perf_counter())
    whole = [end - begin for begin, end in itertools.pairwise(ends)]
    return Fed(statistics.median(feed.waits[LEFT_OUT:]), statistics.median(whole[LEFT_OUT - 1 :]))


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    from benchmarker.data.feeding import PREFETCH

    with tempfile.TemporaryDirectory() as home:
        os.environ["BENCHMARKER_HOME"] = home
        folder = prepared_folder()
        made = fed(folder, "none", lambda: None).wait
        found: dict[tuple[str, str], list[Fed]] = {}
        for _ in range(arguments.rounds):
            for beside, step in steps(2 * made).items():
                for prefetch in random.sample(PREFETCH, len(PREFETCH)):
                    found.setdefault((beside, prefetch), []).append(fed(folder, prefetch, step))
    return finish([row for beside in steps(made) for row in rows_of(beside, found)], arguments)


def rows_of(beside: str, found: Mapping[tuple[str, str], Sequence[Fed]]) -> Iterator[Row]:
    """Yield what steps of a kind waited, and what they took over those without prefetching."""
    base = found[beside, "none"]
    yield Row(f"wait beside {beside}, none", [each.wait for each in base], None, milliseconds)
    for prefetch in ("thread", "process"):
        values = found[beside, prefetch]
        waits = [each.wait for each in values]
        yield Row(f"wait beside {beside}, {prefetch}", waits, None, milliseconds)
        shares = [each.wait / of.wait for each, of in zip(values, base)]
        yield Row("... over that in place", shares, GOAL if beside == "a device" else None, ratio)
        wholes = [each.whole / of.whole for each, of in zip(values, base)]
        yield Row("... the whole step over that in place", wholes, None, ratio)


if __name__ == "__main__":
    sys.exit(main())
