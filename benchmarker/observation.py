"""What a worker says while it runs, and what it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from benchmarker.collecting import Collecting
from benchmarker.launchers import Event
from benchmarker.progress import Progress
from benchmarker.record import SCHEMA_VERSION
from benchmarker.schema import validate


@cache
def _load_validator() -> None:
    """Load what checks a record, which takes longer than the check."""
    validate({"schema_version": SCHEMA_VERSION})


class Observation:
    """What a worker has said so far.

    Parameters
    ----------
    progress : Progress
        Who is told.
    collection : Collecting, optional
        The collectors, which are told where the timed part begins and ends.
    """

    def __init__(self, progress: Progress, collection: Collecting | None = None) -> None:
        self._progress = progress
        self._collection = collection
        self.stage = "start"
        self.events: dict[str, Event] = {}

    def handle(self, event: Event) -> str | None:
        """Take an event; the answers let the worker into the timed part, and into the pass for monitors."""
        # With the worker's first event: it is importing its framework now and waits for nobody.
        _load_validator()
        kind = event["event"]
        if kind == "stage":
            self.stage = str(event.get("name"))
            self._progress.stage(self.stage)
        elif kind == "progress":
            self._progress.steps(int(event["done"]), event.get("total"), float(event["step_seconds"]))
        else:
            self.events[kind] = event
        answer = _ANSWERS.get(kind)
        return answer(event, self._collection) if answer else None


def _ready(event: Event, collection: Collecting | None) -> str:
    if collection is not None:
        collection.before_timing()
        collection.timing_begins(int(event["pid"]))
    return "go"


def _timed(event: Event, collection: Collecting | None) -> None:
    if collection is not None:
        collection.timing_ends()


def _apart(event: Event, collection: Collecting | None) -> str:
    return "go" if collection is not None and collection.apart_begins(int(event["pid"])) else "skip"


def _apart_done(event: Event, collection: Collecting | None) -> None:
    if collection is not None:
        collection.apart_ends()


_ANSWERS: Mapping[str, Callable[[Event, Collecting | None], str | None]] = {
    "ready": _ready,
    "timed": _timed,
    "apart": _apart,
    "apart_done": _apart_done,
}
