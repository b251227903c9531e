"""What ranks say is answered once all have said it, and what none may say is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarker.api.launcher import Event
from benchmarker.errors import ProtocolError
from benchmarker.experiment.progress import Progress
from benchmarker.orchestration.events import RunEvents
from benchmarker.orchestration.rank_events import RankEvents
from benchmarker.orchestration.rank_run import cpus_of_ranks, merged_result

READY: Event = {"event": "ready", "pid": 1, "steps": 3, "step_seconds": 0.1}


class Counter:
    """A network that has carried a thousand bytes more at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> int:
        self.looks += 1
        return 1000 * self.looks


def events(ranks: int = 3, *, server: bool = False, counter: Any = None) -> RankEvents:
    return RankEvents(ranks, server, RunEvents(Progress()), counter or (lambda: None))


def gather(name: str, value: Any, *, everyone: bool = False) -> Event:
    return {"event": "gather", "name": name, "value": value, "everyone": everyone}


def gathered(values: list[Any], ranks: int) -> list[tuple[int, str]]:
    return [(rank, f"gathered {json.dumps(values)}") for rank in range(ranks)]


def test_nobody_goes_on_before_all_have_said_it() -> None:
    found = events()
    assert list(found.handle(2, gather("step", "c"))) == []
    assert list(found.handle(0, gather("step", "a"))) == []
    assert list(found.handle(1, gather("step", "b"))) == gathered(["a", "b", "c"], 3)
    # And again under the same name.
    assert list(found.handle(1, gather("step", 1))) == []


def test_two_names_do_not_mix() -> None:
    found = events(2)
    assert list(found.handle(0, gather("one", 1))) == []
    assert list(found.handle(1, gather("two", 2))) == []
    assert list(found.handle(1, gather("one", 3))) == gathered([1, 3], 2)


def test_a_server_says_only_what_everyone_says() -> None:
    found = events(2, server=True)
    assert list(found.handle(0, gather("served", None, everyone=True))) == []
    assert list(found.handle(1, gather("served", None, everyone=True))) == []
    assert list(found.handle(2, gather("served", None, everyone=True))) == gathered([None] * 3, 3)
    with pytest.raises(ProtocolError, match="which only ranks that train say"):
        list(found.handle(2, gather("step", 1)))


def test_what_is_said_twice_is_refused() -> None:
    found = events(2)
    list(found.handle(0, gather("step", 1)))
    with pytest.raises(ProtocolError, match="it said 'step' a second time before all others had said it"):
        list(found.handle(0, gather("step", 1)))


def test_the_timed_part_begins_for_all_at_once_and_its_bytes_are_those_until_the_last() -> None:
    counter = Counter()
    found = events(2, counter=counter)
    assert list(found.handle(1, READY)) == []
    assert counter.looks == 0
    assert list(found.handle(0, READY)) == [(0, "go"), (1, "go")]
    assert counter.looks == 1
    list(found.handle(0, {"event": "timed"}))
    assert found.wire_bytes is None
    list(found.handle(1, {"event": "timed"}))
    assert found.wire_bytes == 1000


def test_no_bytes_are_told_where_none_are_counted() -> None:
    found = events(1)
    list(found.handle(0, READY))
    list(found.handle(0, {"event": "timed"}))
    assert found.wire_bytes is None


# --- one run of them all --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usable", "ranks", "threads", "expected"),
    [
        ((0, 1, 2, 3), 2, 1, [(0,), (1,)]),
        ((0, 1, 2, 3), 2, 2, [(0, 1), (2, 3)]),
        ((4, 6), 2, 1, [(4,), (6,)]),
        ((0, 1, 2), 2, 2, []),
        ((0,), 2, 1, []),
    ],
)
def test_each_rank_has_cpus_of_its_own_where_there_are_enough(
    usable: tuple[int, ...], ranks: int, threads: int, expected: list[tuple[int, ...]]
) -> None:
    assert cpus_of_ranks(usable, ranks, threads) == expected


def result(samples: list[int], wall: int, loss: float | None, peak: int | None) -> dict[str, Any]:
    return {
        "samples_nanoseconds": samples,
        "warmup_nanoseconds": samples[:1],
        "wall_nanoseconds": wall,
        "loss_first": loss,
        "loss_last": loss,
        "memory": {"peak_bytes": peak, "framework": {}},
    }


def test_the_step_of_all_is_the_slowest_block_by_block_and_memory_adds_up() -> None:
    found = merged_result([result([3, 1, 4], 9, 1.0, 100), result([1, 5, 2], 9, 2.0, 50)])
    assert (found["samples_nanoseconds"], found["warmup_nanoseconds"]) == ([3, 5, 4], [3])
    # No clock has run for as long as all slowest blocks together.
    assert found["wall_nanoseconds"] == 12
    assert (found["loss_first"], found["memory"]["peak_bytes"]) == (1.5, 150)


def test_what_one_rank_does_not_know_none_knows() -> None:
    found = merged_result([result([1], 1, 1.0, 100), result([1], 1, None, None)])
    assert (found["loss_last"], found["memory"]["peak_bytes"]) == (None, None)
