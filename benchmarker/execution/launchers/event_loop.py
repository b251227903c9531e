"""The events of the workers of a run, from their start until all have ended, or one of them ends the others."""

from __future__ import annotations

import selectors
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from benchmarker.api.launcher import Event, GroupHandler, Handler, Outcome
from benchmarker.errors import ProtocolError
from benchmarker.execution.launchers.conversation import Conversation

GRACE_SECONDS = 2.0
"""How long a worker that is being ended may take to leave."""
STACKS_SECONDS = 0.3
"""How long one that ran out of time may take to print where it stands."""
LEAVE_SECONDS = 60.0
"""How long workers may take to leave once all have sent their last event."""
LOOKS = 4
"""How often one looks for ranks that are stopped while one may say nothing."""
BLAME_SECONDS = 0.5
"""How long one looks for a rank that was killed where another has given up without a word, on one machine."""
MAX_WAIT_SECONDS = 86400.0
"""The kernel's own limit of one wait is about 24 days; a longer timeout takes several."""


def of_one(handler: Handler) -> GroupHandler:
    """Return the handler of a group that is one worker."""

    def answer(rank: int, event: Event) -> Iterable[tuple[int, str]]:
        reply = handler(event)
        return () if reply is None else ((rank, reply),)

    return answer


class EventLoop:
    """Reads the events of several ranks, one at a time, and writes what each is told.

    Parameters
    ----------
    ranks : sequence of Conversation
        One a worker.
    handler : callable
        Takes each event with its rank.
    silence : float or None
        Seconds that a rank may say nothing while another waits, or be stopped by a signal.
    answered : collection of str
        The kinds of events that a rank waits for an answer to.
    blame_seconds : float
        How long one looks for a rank that was killed where another has given up without a word.
    """

    def __init__(
        self,
        ranks: Sequence[Conversation],
        handler: GroupHandler,
        silence: float | None = None,
        answered: Collection[str] = (),
        blame_seconds: float = BLAME_SECONDS,
    ) -> None:
        self._ranks = ranks
        self._handler = handler
        self._silence = silence
        self._answered = answered
        self._blame_seconds = blame_seconds
        self._running = dict(enumerate(ranks))
        self._waiting: dict[int, float] = {}
        """Since when ranks wait for an answer."""
        self._stopped: dict[int, float] = {}
        """Since when ranks are seen stopped."""
        self._next_look = time.monotonic()
        self._outcomes: dict[int, Outcome] = {}
        self._bad: list[int] = []
        """Ranks that have come to no good end."""
        self._blame_at: float | None = None
        """When one of these is named, whoever else may end."""

    def run(self) -> list[Outcome]:
        """Handle events until all have ended, or end all when the first of them comes to no good end.

        Raises
        ------
        ProtocolError
            If a worker does what none does, with its ``rank``; whoever started them ends them.
        """
        try:
            self._listen()
        except KeyboardInterrupt:
            self._end(signal.SIGTERM, GRACE_SECONDS, dict.fromkeys(self._running, "interrupt"))
        return [self._outcomes[rank] for rank in range(len(self._ranks))]

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            now = time.monotonic()
            for rank in self._ranks:
                rank.open(selector, now)
            while self._running:
                if self._end_of_patience():
                    return
                for number, rank in self._running.items():
                    with _blaming(number):
                        rank.prepare(selector)
                ready = {key.fd for key, _ in selector.select(self._wait())}
                ended = self._take(ready, selector)
                for number in ended:
                    self._running.pop(number).close(selector)
                    self._waiting.pop(number, None)
                if self._end_with_the_first(ended):
                    return
                if all(rank.last_event for rank in self._running.values()):
                    for rank in self._running.values():
                        rank.expect(LEAVE_SECONDS, f"sent its {rank.last_event}")

    def _take(self, ready: set[int], selector: selectors.BaseSelector) -> list[int]:
        """Take what has arrived, and return the ranks that have ended."""
        ended = []
        for number, rank in self._running.items():

            def handle(event: Event, number: int = number) -> None:
                self._handle(number, event)

            with _blaming(number):
                if rank.take(ready, selector, handle):
                    ended.append(number)
                    self._outcomes[number] = Outcome(rank.worker.end(), "itself", rank.unreadable)
        return ended

    def _handle(self, number: int, event: Event) -> None:
        self._waiting.pop(number, None)
        if event["event"] in self._answered:
            self._waiting[number] = time.monotonic()
        for to, message in self._handler(number, event):
            self._ranks[to].tell(message)
            self._waiting.pop(to, None)

    def _end_with_the_first(self, ended: Sequence[int]) -> bool:
        """End all if one has come to no good end, and return whether that is so."""
        self._bad += [number for number in ended if not self._is_good(number)]
        if self._bad:
            if not self._is_first_known():
                return False
            first = min(self._bad, key=lambda number: order_of_blame(self._outcomes[number].exit_status))
            for number in self._bad:
                if number != first and self._ranks[number].last_event != "error":
                    self._outcomes[number] = _ended_with_others(self._outcomes[number])
            self._end_now()
            return True
        failed = [number for number, rank in self._running.items() if rank.last_event == "error"]
        if failed and len(self._ranks) > 1:
            # It might wait for the others in its exit functions.
            self._end_now(failed)
            return True
        return False

    def _is_first_known(self) -> bool:
        """Return whether one of the bad ends is the cause of the others, or time to look for another is over.

        MPI aborts where it has lost a rank, which may be noticed before that rank's own end.
        """
        if not self._running or any(map(self._is_cause, self._bad)):
            return True
        now = time.monotonic()
        if self._blame_at is None:
            self._blame_at = now + self._blame_seconds
        return now >= self._blame_at

    def _is_cause(self, number: int) -> bool:
        told = self._ranks[number].last_event == "error"
        return told or order_of_blame(self._outcomes[number].exit_status) == 0

    def _is_good(self, number: int) -> bool:
        """Return whether a rank has ended well; others may wait for one that has left without its result."""
        is_done = self._ranks[number].last_event == "result" or len(self._ranks) == 1
        return self._outcomes[number].exit_status == 0 and is_done

    def _end_now(self, leaving: Collection[int] = ()) -> None:
        """End all at once but those that are leaving, which have a moment for it."""
        for number in [number for number in self._running if number not in leaving]:
            rank = self._running.pop(number)
            self._outcomes[number] = Outcome(rank.worker.end(), "group", rank.unreadable)
        self._end(None, GRACE_SECONDS, dict.fromkeys(leaving, "itself"))

    def _end_of_patience(self) -> bool:
        """End all if time is over for one, and return whether that is so."""
        now = time.monotonic()
        late = [n for n, rank in self._running.items() if rank.deadline is not None and now >= rank.deadline]
        by = "timeout"
        if not late:
            late, by = self._silent(now), "silence"
        if not late:
            late, by = self._stopped_long(now), "stopped"
        if not late:
            return False
        late = [n for n in late if n not in self._waiting] or late
        late = [n for n in late if self._running[n].worker.is_stopped()] or late
        # This signal makes them print the stacks of all their threads.
        self._end(signal.SIGUSR1, STACKS_SECONDS, dict.fromkeys(late, by))
        return True

    def _silent(self, now: float) -> list[int]:
        if self._silence is None or not self._waiting:
            return []
        end = now - self._silence
        return [number for number, since in self._silences().items() if since <= end]

    def _silences(self) -> dict[int, float]:
        """Return since when the ranks say nothing that do not wait themselves, while another waits."""
        first = min(self._waiting.values())
        return {
            number: max(first, rank.heard)
            for number, rank in self._running.items()
            if number not in self._waiting and rank.last_event is None
        }

    def _stopped_long(self, now: float) -> list[int]:
        """Return the ranks that are stopped for too long: in an exchange others wait for them and no event tells so."""
        if self._silence is None or now < self._next_look:
            return []
        self._next_look = now + self._silence / LOOKS
        stopped = [number for number, rank in self._running.items() if rank.worker.is_stopped()]
        self._stopped = {number: self._stopped.get(number, now) for number in stopped}
        return [number for number, since in self._stopped.items() if since <= now - self._silence]

    def _wait(self) -> float | None:
        """Return how long there is nothing to do unless something arrives."""
        moments = [moment for rank in self._running.values() for moment in rank.moments()]
        if self._silence is not None and self._waiting:
            moments += [since + self._silence for since in self._silences().values()]
        if self._silence is not None:
            moments.append(self._next_look)
        if self._blame_at is not None:
            moments.append(self._blame_at)
        return min(max(0.0, min(moments) - time.monotonic()), MAX_WAIT_SECONDS) if moments else None

    def _end(self, first: signal.Signals | None, seconds: float, ended_by: dict[int, str]) -> None:
        """Ask with a signal all that run, wait so long for what they do about it, then end their process groups."""
        until = time.monotonic() + seconds
        for rank in self._running.values():
            if first is not None:
                rank.worker.send_signal(first)
        for rank in self._running.values():
            rank.worker.wait(max(0.0, until - time.monotonic()))
        for number in list(self._running):
            rank = self._running.pop(number)
            self._outcomes[number] = Outcome(
                rank.worker.end(), ended_by.get(number, "group"), rank.unreadable
            )


def order_of_blame(status: int | None) -> int:
    """Return how early a process that ended so is named among those that came to no good end.

    First one that a signal hit, then one that aborted, as MPI does that has lost another rank, then one that left.
    """
    if status is not None and status > 0:
        return 2
    return int(status == -signal.SIGABRT)


def _ended_with_others(outcome: Outcome) -> Outcome:
    return Outcome(outcome.exit_status, "group", outcome.unreadable_events)


@contextmanager
def _blaming(rank: int) -> Iterator[None]:
    """Note at a breach of the protocol whose it was."""
    try:
        yield
    except ProtocolError as error:
        error.rank = rank
        raise
