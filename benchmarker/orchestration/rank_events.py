"""What the ranks of a run say while they run, and what they are answered: nobody goes on alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarker.api.launcher import Event
from benchmarker.errors import ProtocolError
from benchmarker.orchestration.events import RunEvents, check_groups
from benchmarker.worker.channel import GATHERED

Messages = Iterator[tuple[int, str]]
"""To which rank what is said."""


class RankEvents:
    """Answers all ranks of a run, and its server.

    Parameters
    ----------
    ranks : int
        How many train.
    beside : int
        How many processes there are beside them, a server; they have the numbers that follow.
    first : RunEvents
        Hears what rank 0 says, and lets the timed part begin.
    sent_bytes : callable
        Returns what the run's network has counted so far; None if it counts nothing.

    Attributes
    ----------
    wire_bytes : int or None
        That went over the network in the timed part.
    """

    def __init__(
        self, ranks: int, beside: int, first: RunEvents, sent_bytes: Callable[[], int | None]
    ) -> None:
        self._ranks = ranks
        self._everyone = ranks + beside
        self._first = first
        self._sent_bytes = sent_bytes
        self._gathered: dict[str, dict[int, Any]] = {}
        self._ready: dict[int, Event] = {}
        self._timed: set[int] = set()
        self._before: int | None = None
        self.wire_bytes: int | None = None

    def handle(self, rank: int, event: Event) -> Messages:
        """Take an event of a rank; yield what is said to which rank.

        Raises
        ------
        ProtocolError
            If it is one that may not come now.
        """
        kind = event["event"]
        if kind == "gather":
            yield from self._gather(rank, event)
        elif kind == "ready":
            yield from self._be_ready(rank, event)
        elif rank == 0:
            self._first.handle(event)
        else:
            check_groups(event)
        if kind == "timed":
            self._end(rank)

    def _gather(self, rank: int, event: Event) -> Messages:
        name, count = event["name"], self._everyone if event["everyone"] else self._ranks
        gathered = self._gathered.setdefault(name, {})
        if rank in gathered:
            raise ProtocolError(f"it said '{name}' a second time before all others had said it")
        if rank >= count:
            raise ProtocolError(f"it said '{name}', which only ranks that train say")
        gathered[rank] = event["value"]
        if len(gathered) == count:
            values = [gathered[number] for number in range(count)]
            del self._gathered[name]
            for number in range(count):
                yield number, f"{GATHERED}{json.dumps(values)}"

    def _be_ready(self, rank: int, event: Event) -> Messages:
        self._ready[rank] = event
        if len(self._ready) < self._ranks:
            return
        self._first.handle(self._ready[0])
        self._before = self._sent_bytes()
        for number in range(self._ranks):
            yield number, "go"

    def _end(self, rank: int) -> None:
        """Read the network once the last rank has made its steps: none sends anything before all have said so."""
        self._timed.add(rank)
        if len(self._timed) == self._ranks and self._before is not None:
            after = self._sent_bytes()
            self.wire_bytes = None if after is None else after - self._before
