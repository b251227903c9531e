"""What a worker may say: every event is declared, and whatever arrives is an event or a sentence."""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.api.launcher import Event, Outcome, WorkerCommand
from benchmarker.errors import ProtocolError, printable_lines, shortened
from benchmarker.execution.event_check import MAX_EVENTS, EventCheck
from benchmarker.execution.launchers.event_lines import EventLines
from benchmarker.execution.launchers.local import LocalLauncher
from benchmarker.experiment.progress import Progress
from benchmarker.orchestration.events import RunEvents
from benchmarker.orchestration.run_record import record_of
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.store import Store, checked
from tests.support.records import make_record

# --- order and number ----------------------------------------------------------------------------


def stage(name: str = "build") -> Event:
    return {"event": "stage", "name": name}


def test_a_result_may_not_come_before_what_it_is_of_nor_twice() -> None:
    check = EventCheck("unpack")
    check.check(stage())
    check.check({"event": "result", "seconds": {"build": 0.5}})
    with pytest.raises(ProtocolError, match=r"it sent the event 'stage' after 'result'$"):
        check.check(stage())
    with pytest.raises(ProtocolError, match=r"it sent the event 'result' before 'timed'$"):
        EventCheck("run").check({"event": "result"})


def test_events_of_other_jobs_are_unknown() -> None:
    with pytest.raises(ProtocolError, match=r"it sent an event of the unknown kind 'ready'$"):
        EventCheck("unpack").check({"event": "ready", "pid": 3})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd"])
def test_an_exported_file_lies_beside_the_one_that_was_asked_for(name: str) -> None:
    with pytest.raises(ProtocolError, match=r"wrong at \$\.files\[0\]"):
        EventCheck("export").check({"event": "result", "files": [name]})


def test_the_number_of_events_is_bounded_but_not_their_time() -> None:
    now = 0.0
    check = EventCheck("run", lambda: now)
    for _ in range(MAX_EVENTS):
        check.check(stage())
    with pytest.raises(ProtocolError, match=r"it sent more than 20,000 events, 'stage' the last$"):
        check.check(stage())
    now = 3600.0
    for _ in range(3600):
        check.check(stage())


# --- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größer: 3 µs", "größer: 3 µs"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("over\rwritten\r\nnext", "over\nwritten\nnext"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("null\x00", r"null\x00"),
        ("\ud800", r"\ud800"),
        ("\u202eright to left", r"\u202eright to left"),
        ("\u2028", r"\u2028"),
    ],
)
def test_what_a_terminal_could_obey_is_spelled_out(text: str, shown: str) -> None:
    assert printable_lines(text) == shown


def test_a_text_that_is_too_long_says_what_is_left_out() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdef", 3) == "abc... (3 characters left out)"


# --- any bytes -----------------------------------------------------------------------------------

ROUNDS, SEED, MAX_SECONDS = 1_500, 20_260, 30.0
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    3.0,
    -0.0,
    -0.5,
    10**18,
    10**40,
    math.nan,
    math.inf,
    "",
    "x" * 10_000,
    "\x1b]0;title\x07",
    "\ud800\u202e\x00",
    [],
    {},
    [[]],
    {"": None},
    [1, "two", None],
    {"event": "stage"},
)
SPLINTERS = (b"\n", b"\x00", b"\xff", b"[" * 3000, b"{", b'"', b"9" * 5000, b"1e999", b"\\ud800", b"null")


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFacts, list[Event]]:
    """What a worker of a measured run says, and what else is known of that run."""
    from benchmarker.experiment.campaign import Campaign
    from benchmarker.experiment.planning import plan
    from benchmarker.experiment.spec import Experiment
    from benchmarker.orchestration import orchestrator

    said: list[Event] = []
    known: list[RunFacts] = []

    class Listening(LocalLauncher):
        def launch(self, command: WorkerCommand, handler: Any) -> Outcome:
            def heard(event: Event) -> Any:
                said.append(event)
                return handler(event)

            return super().launch(command, heard)

    def noted(facts: RunFacts, *rest: Any) -> Any:
        known.append(facts)
        return record_of(facts, *rest)

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("transcript")
        patch.setattr(registry, "launcher", lambda name: Listening())
        patch.setattr(orchestrator, "record_of", noted)
        runs = plan(Experiment(("numpy",), ("mnist_mlp",), batch_sizes=(2,), steps=(3,), warmup=(1,)))
        made = orchestrator.Orchestrator(Store(folder), Progress())
        (finished,) = made.run(Campaign(runs))
    assert finished.record["status"] == "ok", finished.record["error"]
    return known[0], [event for event in said if event["event"] != "stage"]


def mutated(value: Any, chance: random.Random) -> Any:
    """Return JSON values of which one is another."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        if chance.random() < 0.15:
            return {key: member for key, member in value.items() if key != name}
        return {**value, name: mutated(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], mutated(value[place], chance), *value[place + 1 :]]
    return chance.choice(ODD)


def hostile_lines(events: list[Event], chance: random.Random) -> bytes:
    """Return what a worker says, with something wrong in it."""
    said = list(events)
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randrange(len(said))
        how = chance.random()
        if how < 0.7:
            said[place] = mutated(said[place], chance)
        elif how < 0.8:
            said.insert(place, chance.choice(events))
        elif how < 0.9:
            del said[place]
        else:
            chance.shuffle(said)
    data = b"".join(json.dumps(event).encode() + b"\n" for event in said)
    if chance.random() < 0.3:
        place = chance.randrange(len(data))
        data = data[:place] + chance.choice(SPLINTERS) + data[place + chance.choice((0, 1, 20)) :]
    return data


def heard(data: bytes) -> dict[str, Event]:
    """Return the last event of each kind, as the orchestrator takes them."""
    lines, check, found = EventLines(), EventCheck("run"), {}
    # What is heard at once was said over a short run, by a clock that goes on each time that it is read.
    handler = RunEvents(Progress(), clock=partial(next, itertools.count(1.0, 0.5)))
    for start in range(0, len(data), 65_536):
        for event in lines.take(data[start : start + 65_536]):
            harmless = check.check(event)
            handler.handle(harmless)
            found[harmless["event"]] = harmless
    return found


@pytest.mark.framework("numpy")
def test_what_a_real_worker_says_is_taken_as_it_is(transcript: tuple[RunFacts, list[Event]]) -> None:
    _, events = transcript
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    assert heard(data) == {event["event"]: event for event in events}


@pytest.mark.framework("numpy")
def test_any_bytes_are_a_sentence_or_make_a_valid_record(
    transcript: tuple[RunFacts, list[Event]], tmp_path: Path
) -> None:
    facts, events = transcript
    chance = random.Random(SEED)
    refused = 0
    start = time.process_time()
    for number in range(ROUNDS):
        data = hostile_lines(events, chance)
        try:
            found = heard(data)
        except ProtocolError as error:
            refused += 1
            sentence = str(error)
            assert sentence.startswith(
                ("the worker broke the protocol: its event '", "the worker broke the protocol: it sent ")
            )
            assert sentence.isprintable(), number
            assert len(sentence) < 700, number
            continue
        log = tmp_path / f"{number}.log"
        record = record_of(replace(facts, events=found), None, log)
        checked(record)
        # What is well-formed and of the right types may still contradict itself, which is told too.
        assert record["status"] == "ok" or log.exists(), number
    assert refused > ROUNDS / 2
    assert time.process_time() - start < MAX_SECONDS


def test_bytes_without_any_sense_are_passed_over() -> None:
    chance = random.Random(SEED)
    lines = EventLines()
    for _ in range(200):
        events = list(lines.take(chance.randbytes(chance.randrange(2000))))
        assert events == []
    assert lines.unreadable


# --- the clock of the orchestrator ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "passed", "throttled", "fault"),
    [
        (3.0, 3.05, 0.0, False),
        (3.0, 2.9, 0.0, True),
        (3.0, 6.0, 0.0, True),
        (0.01, 0.5, 0.0, False),
        (0.01, 2.0, 0.0, True),
        (60.0, 62.0, 0.0, False),
        (60.0, 70.0, 0.0, True),
        # What a worker does beside its steps stands still as well where a limit holds it up.
        (5.4, 7.7, 5.0, False),
        (5.4, 7.7, 0.1, True),
        (5.4, 2.7, 5.0, True),
        (5.4, 5.8, None, False),
    ],
)
def test_the_timed_part_is_held_to_when_its_events_arrive(
    told: float, passed: float, throttled: float | None, fault: bool
) -> None:
    now = [100.0]
    handler = RunEvents(Progress(), clock=lambda: now[0])
    handler.handle({"event": "ready", "pid": 1, "steps": 5, "step_seconds": 0.1})
    now[0] += passed
    handler.handle({"event": "timed"})
    now[0] += 10
    evidence = {**make_record()["trust"]["evidence"], "throttled_seconds": throttled}
    result = {"event": "result", "wall_nanoseconds": int(told * 1e9), "windows": None, "evidence": evidence}
    if not fault:
        handler.handle(result)
        return
    with pytest.raises(ProtocolError, match=r"by its own clock, but .* s passed between its events"):
        handler.handle(result)
