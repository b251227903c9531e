"""Feeding a training: the same bytes from here, a thread and a process, clean ends, and what waiting costs."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmarker import registry
from benchmarker.api.dataset import from_pixels
from benchmarker.data import feeding
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.batches import DatasetBatches
from benchmarker.data.feeding import PREFETCH, TrainingFeed
from benchmarker.data.feeding_process import FeedingError
from benchmarker.data.prepared import prepare
from benchmarker.data.training_batches import FeedSpec, TrainingBatches
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from tests.conftest import ROOT

GENERATOR = np.random.default_rng(6)
COUNT, CLASSES = 90, 3
PIXELS = GENERATOR.integers(0, 256, (COUNT, 1, 6, 6)).astype(np.uint8)
LABELS = np.arange(COUNT) % CLASSES
AUGMENTATION = ({"name": "shift", "pixels": 1}, {"name": "normalize"}, {"name": "cutout", "size": 2})
INPUTS = BatchInputs("any", "image", (36,), label="label")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setenv("BENCHMARKER_HOME", str(tmp_path_factory.mktemp("home")))
    data = from_pixels("pictures", PIXELS, LABELS, CLASSES, "none", ())
    yield str(prepare("pictures", lambda _: data, None).folder)
    patch.undo()


def spec(folder: str, **changes: Any) -> FeedSpec:
    return dataclasses.replace(FeedSpec(folder, INPUTS, 8, 42, augmentation=AUGMENTATION), **changes)


def taken(batches: TrainingBatches, **options: Any) -> list[Any]:
    with TrainingFeed(batches, **options) as feed:
        return list(feed)


def same(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(
        (a.number, a.epoch) == (b.number, b.epoch)
        and np.array_equal(a.indices, b.indices)
        and list(a.arrays) == list(b.arrays)
        and all(a.arrays[n].dtype == b.arrays[n].dtype for n in a.arrays)
        and all(np.array_equal(a.arrays[n], b.arrays[n]) for n in a.arrays)
        for a, b in zip(first, second)
    )


CHOICES: dict[str, dict[str, Any]] = {
    "plain": {"augmentation": ()},
    "augmented": {},
    "balanced": {"sampler": {"name": "balanced"}},
    "whole": {"drop_last": False, "batch_size": 10},
    "rank": {"rank": 1, "ranks": 2, "batch_size": 4},
    "soft": {
        "augmentation": ("mixup", {"name": "label_smoothing"}),
        "inputs": dataclasses.replace(INPUTS, takes_weights=True, shape=(1, 6, 6)),
    },
}


@pytest.mark.parametrize("name", CHOICES)
def test_all_ways_give_the_same_bytes(name: str, folder: str) -> None:
    chosen = spec(folder, **CHOICES[name])
    batches = chosen.open()
    count = 2 * batches.distinct + 1
    direct, thread, process = (
        taken(chosen.open(), count=count, prefetch=way, depth=depth)
        for way, depth in zip(PREFETCH, (1, 1, 3))
    )
    assert [fed.number for fed in direct] == list(range(count))
    assert same(direct, thread)
    assert same(direct, process)
    assert {fed.epoch for fed in direct} == {0, 1, 2}


def test_a_training_goes_on_from_any_mini_batch(folder: str) -> None:
    whole = taken(spec(folder).open(), count=25)
    for way in PREFETCH:
        assert same(taken(spec(folder).open(), start=13, count=12, prefetch=way), whole[13:])


def test_an_epoch_takes_every_sample_of_the_part_and_no_other(folder: str) -> None:
    batches = spec(folder, drop_last=False).open()
    fed = taken(batches, count=batches.distinct)
    train = batches.augmenter.population
    assert np.array_equal(np.sort(np.concatenate([f.indices for f in fed])), train)
    assert [len(f.indices) for f in fed] == [8] * 9
    dropping = spec(folder, batch_size=10).open()
    assert dropping.distinct == 7
    assert len(set(np.concatenate([f.indices for f in taken(dropping, count=7)]).tolist())) == 70


def test_ranks_together_take_the_bytes_of_one_process(folder: str) -> None:
    whole = taken(spec(folder).open(), count=5)
    ranks = [taken(spec(folder, rank=rank, ranks=2, batch_size=4).open(), count=5) for rank in (0, 1)]
    for one, parts in zip(whole, zip(*ranks)):
        for name, array in one.arrays.items():
            assert np.array_equal(np.concatenate([part.arrays[name] for part in parts]), array)


def test_without_split_and_augmentation_they_are_the_mini_batches_of_a_run(folder: str) -> None:
    net = Network("any", 8)
    net.output(net.input("image", (36,)))
    net.labels("label", CLASSES)
    graph = net.graph()
    own = FeedSpec(folder, BatchInputs.of(graph), 8, 42, shares={"train": 1.0}).open()
    of_a_run = DatasetBatches(Path(folder), graph, 42)
    assert own.distinct == of_a_run.distinct
    assert own.digests(20) == of_a_run.digests(20)
    for number in (0, 7, 15):
        for name, array in of_a_run.batch(number).items():
            assert np.array_equal(own.batch(number)[name], array)


def test_a_spec_goes_through_json(folder: str) -> None:
    interval = dataclasses.replace(INPUTS, distribution=Distribution("uniform", 1.0, low=0.0))
    chosen = spec(folder, augmentation=("flip",), inputs=interval)
    again = FeedSpec.from_json(json.loads(json.dumps(chosen.to_json())))
    assert again == chosen
    assert same(taken(again.open(), count=3), taken(chosen.open(), count=3))


# --- clean ends ------------------------------------------------------------------------------------


def own_children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("way", PREFETCH)
@pytest.mark.parametrize("count", [None, 50])
def test_nothing_is_left_of_a_feed_that_ends_early(way: str, count: int | None, folder: str) -> None:
    before, threads = own_children(), threading.active_count()
    with TrainingFeed(spec(folder).open(), count=count, prefetch=way, depth=4) as feed:
        next(feed)
    assert own_children() == before
    assert threading.active_count() == threads
    feed.close()
    assert list(feed) == []


def test_a_feed_that_is_forgotten_ends_its_process(folder: str) -> None:
    before = own_children()
    feed = TrainingFeed(spec(folder).open(), prefetch="process")
    next(feed)
    assert own_children() != before
    del feed
    assert own_children() == before


def test_a_process_ends_with_the_one_that_takes_its_mini_batches(folder: str) -> None:
    script = (
        "import json, sys, time\n"
        "from benchmarker.data.feeding import TrainingFeed\n"
        "from benchmarker.data.training_batches import FeedSpec\n"
        "feed = TrainingFeed(FeedSpec.from_json(json.loads(sys.argv[1])).open(), prefetch='process')\n"
        "next(feed)\n"
        "print(feed._source._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, json.dumps(spec(folder).to_json())]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    child.wait(20)


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("way", ["none", "thread"])
def test_what_goes_wrong_comes_out_as_it_is(way: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(batches: TrainingBatches, number: int) -> Any:
        if number == 3:
            raise BrokenError("of a mini-batch")
        return made(batches, number)

    made = feeding.made_batch
    monkeypatch.setattr(feeding, "made_batch", broken)
    with TrainingFeed(spec(folder).open(), prefetch=way) as feed:
        assert [next(feed).number for _ in range(3)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(BrokenError, match="of a mini-batch"):
                next(feed)
            if way == "none":
                break


def test_what_goes_wrong_in_a_process_is_told(folder: str, tmp_path: Path) -> None:
    before = own_children()
    good = spec(folder).open()
    good.spec = dataclasses.replace(spec(folder), folder=str(tmp_path / "none"))
    with (
        TrainingFeed(good, prefetch="process") as feed,
        pytest.raises(
            FeedingError, match=r"the process that makes mini-batches failed:\nTraceback(?s:.)*No such file"
        ),
    ):
        next(feed)
    good.spec = spec(folder, batch_size=2000)
    with (
        TrainingFeed(good, prefetch="process") as feed,
        pytest.raises(UsageError, match="has 72 samples to train on, too few for a mini-batch of 2000"),
    ):
        next(feed)
    assert own_children() == before


def test_a_process_that_is_killed_is_told(folder: str) -> None:
    with TrainingFeed(spec(folder).open(), prefetch="process", depth=1) as feed:
        next(feed)
        os.kill(feed._source._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        with pytest.raises(FeedingError, match="ended with exit status -9"):
            list(feed)


# --- what it costs ---------------------------------------------------------------------------------


def test_waiting_is_measured_and_less_beside_the_step(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = feeding.made_batch

    def slow(batches: TrainingBatches, number: int) -> Any:
        time.sleep(0.05)
        return made(batches, number)

    monkeypatch.setattr(feeding, "made_batch", slow)
    waited = {}
    for way in ("none", "thread"):
        with TrainingFeed(spec(folder).open(), count=6, prefetch=way) as feed:
            for fed in feed:
                assert fed.waited_seconds == feed.waits[-1]
                time.sleep(0.2)
        assert len(feed.waits) == 6
        # The middle one: an interruption makes one wait longer.
        waited[way] = statistics.median(feed.waits[1:])
    assert waited["none"] >= 0.05
    assert waited["thread"] < waited["none"] / 2


def test_a_queue_holds_no_more_than_its_depth(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    made = feeding.made_batch
    reached = threading.Event()

    def counted(batches: TrainingBatches, number: int) -> Any:
        numbers.append(number)
        if number == 3:
            reached.set()
        return made(batches, number)

    monkeypatch.setattr(feeding, "made_batch", counted)
    with TrainingFeed(spec(folder).open(), prefetch="thread", depth=3) as feed:
        next(feed)
        assert reached.wait(20)
        time.sleep(0.1)
        assert numbers == [0, 1, 2, 3]


def test_arrays_of_a_process_are_nobody_elses(folder: str) -> None:
    with TrainingFeed(spec(folder).open(), count=6, prefetch="process", depth=1) as feed:
        first = next(feed)
        kept = {name: array.copy() for name, array in first.arrays.items()}
        list(feed)
    assert all(np.array_equal(first.arrays[name], kept[name]) for name in kept)
    assert all(array.flags.writeable for array in first.arrays.values())


# --- bias and digests ------------------------------------------------------------------------------


@pytest.mark.parametrize("way", PREFETCH)
def test_classes_that_were_given_are_counted(way: str, folder: str) -> None:
    batches = spec(folder).open()
    with TrainingFeed(batches, count=11, prefetch=way) as feed:
        fed = list(feed)
    given = np.bincount(LABELS[np.concatenate([f.indices for f in fed])], minlength=CLASSES)
    assert feed.bias.given == tuple(given.tolist())
    assert feed.bias.available == (24, 24, 24)
    assert 0 < feed.bias.total_variation < 0.1


def test_digests_are_of_every_epoch_that_was_reached(folder: str) -> None:
    batches = spec(folder).open()
    assert len(batches.digests(9)["epochs"]) == 1
    assert len(set(batches.digests(10)["epochs"])) == 2


# --- refusals --------------------------------------------------------------------------------------


def refused(folder: str, **changes: Any) -> str:
    with pytest.raises(UsageError) as caught:
        spec(folder, **changes).open()
    return str(caught.value)


def test_what_does_not_fit_is_one_sentence(folder: str) -> None:
    assert "too few for a mini-batch of 73" in refused(folder, batch_size=73)
    wrong = dataclasses.replace(INPUTS, shape=(35,))
    assert "samples of shape (1, 6, 6), but problem 'any' takes 'image' of (35,)" in refused(
        folder, inputs=wrong
    )
    assert "problem 'any' takes class indices" in refused(folder, augmentation=("mixup",))
    assert "unknown sampler 'shufled'" in refused(folder, sampler={"name": "shufled"})
    assert "must add up to 1, got 0.9" in refused(folder, shares={"train": 0.9})


def test_an_unknown_way_is_refused(folder: str) -> None:
    batches = spec(folder).open()
    with pytest.raises(UsageError, match="prefetch must be one of none, thread, process, got 'threads'"):
        TrainingFeed(batches, prefetch="threads")
    with pytest.raises(UsageError, match="at least 1 mini-batch must be made ahead, got 0"):
        TrainingFeed(batches, prefetch="thread", depth=0)
    batches.spec = None
    with pytest.raises(UsageError, match="only from their spec; use prefetch 'thread'"):
        TrainingFeed(batches, prefetch="process")


def test_inputs_of_a_problem_are_found() -> None:
    graph = registry.problem("mnist_mlp").graph(4)
    assert BatchInputs.of(graph) == BatchInputs("mnist_mlp", "image", (784,), label="label")
    net = Network("soft", 4)
    net.output(net.input("x", (3,)))
    net.input("label", (5,), distribution=Distribution("one_hot"))
    assert BatchInputs.of(net.graph()).takes_weights
    with pytest.raises(
        UsageError, match="a data set has samples and a class label each; problem 'dlrm' takes"
    ):
        BatchInputs.of(registry.problem("dlrm").graph(2))
