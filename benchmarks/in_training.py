"""A training in one process, whose steps take turns with the very same steps as ``run`` makes them.

Called by ``training.py`` under the framework's own interpreter, with the job of a training on standard input. Twice in
each row of steps between evaluations, never right after one, the training pauses for a window of steps that a timed run
would make: mini-batches that are on the device already, constants that do not change, and the clock of ``run``.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import time
from typing import Any

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import TrainJob, from_json
from benchmarker.worker.measurement import sampling
from benchmarker.worker.program import prepare
from benchmarker.worker.stages import Stages
from benchmarker.worker.training.loop import TrainingLoop
from benchmarker.worker.training.session import begin

SETTLED = 2
"""Samples after an evaluation before the first window, and untimed steps before each."""
MIN_SAMPLES = 8
"""Between two evaluations."""


def block_of(chosen: int, every: int) -> int:
    """Return how many steps a sample has: as many as a run's, but so that none goes on over an evaluation."""
    fitting = (block for block in range(min(chosen, every // MIN_SAMPLES), 0, -1) if every % block == 0)
    return next(fitting, 1)


class Windows:
    """Times steps as ``run`` does, called by the loop between its samples.

    Parameters
    ----------
    prepared : Prepared
        The program that trains.
    batches : list
        Mini-batches on the device.
    every : int
        Steps of the training between evaluations.
    block : int
        Steps of a sample.
    """

    def __init__(self, prepared: Any, batches: list[Any], every: int, block: int) -> None:
        self._prepared = prepared
        self._feed = itertools.cycle(batches).__next__
        self._every, self._block = every, block
        self.seconds: list[float] = []
        self.train: list[list[float]] = [[]]
        """Seconds per step of each row of samples of the training, from one evaluation to the next."""
        self._known = 0

    def __call__(self, loop: TrainingLoop) -> None:
        self.train[-1] += [value / self._block / 1e9 for value in loop.samples[self._known :]]
        self._known = len(loop.samples)
        place = loop.step % self._every // self._block
        if place == 0:
            self.train.append([])
        middle = self._every // self._block // 2
        if place not in (SETTLED, middle):
            return
        program = self._prepared.program
        step, synchronize = program.train_step, program.synchronize
        sampling.sample(step, synchronize, self._feed, SETTLED)
        count = (middle - SETTLED) * self._block
        timed = sampling.sample(step, synchronize, self._feed, count, block_steps=self._block)
        self.seconds += timed.seconds


def main() -> None:
    job = from_json(json.load(sys.stdin))
    assert isinstance(job, TrainJob)
    # Nobody listens, and nobody says anything; a control pipe that ends would end us.
    silent, _ = os.pipe()
    channel = Channel(os.open(os.devnull, os.O_WRONLY), silent)
    stages = Stages(channel)
    prepared = prepare(job, channel, stages)
    session = begin(job, prepared)
    loop = session.loop
    loop.evaluate()
    start = time.perf_counter_ns()
    first = prepared.step(prepared.feed())
    prepared.program.synchronize(first)
    loop.count_first_step(first, time.perf_counter_ns() - start)
    with session.open_feed():
        warm = loop.warm_up(session.plan.every)
        every = session.plan.every
        if every < MIN_SAMPLES:
            raise SystemExit(f"there must be {MIN_SAMPLES} steps between evaluations, got {every}")
        chosen = sampling.choose_block_steps(
            statistics.median(warm) / 1e9, 0.0, steps=session.plan.most, target_seconds=0.0
        )
        block = block_of(chosen, every)
        batches = [
            prepared.program.load(session.data.train.batch(number))
            for number in range(session.plan.steps_per_epoch)
        ]
        windows = Windows(prepared, batches, every, block)
        loop.run(block, windows)
    rows = [row for row in windows.train if row]
    told = {
        "run": statistics.median(windows.seconds),
        "run_mean": statistics.fmean(windows.seconds),
        "train": statistics.median(itertools.chain(*rows)),
        "train_mean": statistics.fmean(itertools.chain(*rows)),
        "first": statistics.median(row[0] for row in rows),
        "block": block,
        "samples": [len(windows.seconds), sum(map(len, rows))],
    }
    print(json.dumps(told), flush=True)
    # As a worker ends: threads of a framework may outlive the interpreter otherwise.
    os._exit(0)


if __name__ == "__main__":
    main()
