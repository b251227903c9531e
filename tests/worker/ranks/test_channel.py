"""What a rank says to the orchestrator while others wait for it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarker.worker import channel as channels
from benchmarker.worker.channel import Channel


class Pipes:
    """A rank's channel, and the orchestrator's ends of it."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        control, self._control = os.pipe()
        self.channel = Channel(write, control)
        self._lines = open(self._read, encoding="utf-8")  # noqa: SIM115 - closed with the test

    def heard(self) -> dict[str, Any]:
        """Return the next event."""
        event: dict[str, Any] = json.loads(self._lines.readline())
        return event

    def say(self, message: str) -> None:
        os.write(self._control, f"{message}\n".encode())

    def close(self) -> None:
        self._lines.close()


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


def test_who_works_alone_for_long_says_so_until_it_is_done(
    pipes: Pipes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "ALIVE_SECONDS", 0.02)
    with pipes.channel.alive():
        assert [pipes.heard() for _ in range(3)] == [{"event": "alive"}] * 3
    threads = [thread.name for thread in threading.enumerate()]
    pipes.channel.send("done")
    while (event := pipes.heard())["event"] == "alive":
        pass
    assert event == {"event": "done"}
    assert "alive" not in threads


def test_what_two_threads_say_is_not_mixed(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "ALIVE_SECONDS", 0.0)
    text = "x" * 300_000  # more than a pipe takes at once

    def tell() -> None:
        with pipes.channel.alive():
            for _ in range(5):
                pipes.channel.send("long", text=text)
        pipes.channel.send("done")

    teller = threading.Thread(target=tell)
    teller.start()
    kinds = []
    while (event := pipes.heard())["event"] != "done":
        kinds.append(event["event"])
        assert event.get("text", text) == text
    teller.join()
    assert kinds.count("long") == 5


def test_a_rank_waits_for_what_all_say(pipes: Pipes) -> None:
    found: list[Any] = []
    teller = threading.Thread(target=lambda: found.append(pipes.channel.gather("step", 2.5)))
    teller.start()
    assert pipes.heard() == {"event": "gather", "name": "step", "value": 2.5, "everyone": False}
    pipes.say("go")  # is for somebody who waits for that
    assert found == []
    pipes.say("gathered [2.5, 7]")
    teller.join()
    assert found == [[2.5, 7]]
