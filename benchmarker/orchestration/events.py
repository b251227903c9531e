"""What a worker says while it runs, and what it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from benchmarker.api.launcher import Event
from benchmarker.errors import ProtocolError
from benchmarker.experiment.progress import Progress
from benchmarker.orchestration.collector_session import CollectorSession
from benchmarker.records.schema import NEWEST, validate
from benchmarker.records.store import as_json

MAX_EARLY_SECONDS = 0.01
MAX_LATE_SECONDS, MAX_LATE_SHARE = 1.0, 0.05
"""How much more than the timed part may pass between its events: readings of the machine, and a busy orchestrator."""
MIN_RUNNING_SHARE = 0.02
"""What a worker does outside of its timed part takes as much longer as its control group stands still, up to this."""


@cache
def _load_assembly() -> None:
    """Load what makes and checks a record, NumPy among it, which takes longer than that itself."""
    from benchmarker.orchestration import doctor  # noqa: F401
    from benchmarker.records import steady_state  # noqa: F401
    from benchmarker.records.assembly import record  # noqa: F401

    validate({"schema_version": NEWEST})


@cache
def _groups() -> Mapping[str, Mapping[str, Any]]:
    """Return the groups of a record that workers send as members of their events, by the event's kind."""
    from benchmarker.records.schema.execution import ProcessFacts, SharedStart
    from benchmarker.records.schema.learning import Learning
    from benchmarker.records.schema.operator import Operator
    from benchmarker.records.schema.profile import Profile
    from benchmarker.records.schema.scenario import Scenario
    from benchmarker.records.schema.timing import Breakdown, Generation, Overhead, Window
    from benchmarker.records.schema.training import TrainingResult
    from benchmarker.records.schema.trust import Checkpoints, Evidence
    from benchmarker.records.schema.verification import TensorErrors

    return {
        "forked": {"shared": SharedStart},
        "proof": {"tensors": list[TensorErrors]},
        "verification": {"worst": TensorErrors | None, "tensors": list[TensorErrors]},
        "result": {
            "evidence": Evidence,
            "checkpoints": Checkpoints,
            "overhead": Overhead,
            "process": ProcessFacts,
            "windows": list[Window] | None,
            "learning": Learning | None,
            "training": TrainingResult,
            "breakdown": Breakdown | None,
            "profile": Profile | None,
            "operator": Operator | None,
            "generation": Generation | None,
            "scenario": Scenario | None,
        },
    }


def check_groups(event: Event) -> None:
    """Hold what becomes a group of a record to what the record declares.

    Raises
    ------
    ProtocolError
        If it is something else.
    """
    import msgspec

    from benchmarker.execution.event_check import wrong_event
    from benchmarker.machine.typed_values import typed

    kind = event["event"]
    for name, group in _groups().get(kind, {}).items():
        if name not in event:
            continue
        try:
            typed(as_json(event[name]), group)
        except (msgspec.ValidationError, ValueError) as error:
            raise wrong_event(kind, error, name) from None


class RunEvents:
    """Tells of what a worker says while it runs, and answers it.

    Parameters
    ----------
    progress : Progress
        Who is told.
    collection : CollectorSession, optional
        The collectors, which are told where the timed part begins and ends.
    clock : callable
        Seconds, monotonic: what a worker says of its timed part is held to when its events arrive.
    """

    def __init__(
        self,
        progress: Progress,
        collection: CollectorSession | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress = progress
        self._collection = collection
        self._clock = clock
        self._began = self._ended = 0.0

    def handle(self, event: Event) -> str | None:
        """Take an event; the answers let the worker into the timed part, and into the pass for monitors.

        Raises
        ------
        ProtocolError
            If it holds what no record may hold.
        """
        # With the worker's first event: it is importing its framework now and waits for nobody.
        _load_assembly()
        check_groups(event)
        kind = event["event"]
        if kind == "timed":
            self._ended = self._clock()
        elif kind == "result":
            self._check_clock(event)
        elif kind == "stage":
            self._progress.stage(event["name"])
        elif kind == "progress":
            self._progress.quality(event.get("loss"), event.get("quality"))
            self._progress.steps(event["done"], event["total"], event["step_seconds"])
        answer = _ANSWERS.get(kind)
        reply = answer(event, self._collection) if answer else None
        if kind == "ready":
            self._began = self._clock()
        return reply

    def _check_clock(self, event: Event) -> None:
        """Hold the length of the timed part by the worker's clock to what passed here meanwhile."""
        reported, passed = event.get("wall_nanoseconds", 0) / 1e9, self._ended - self._began
        if event.get("windows") is not None or not self._began:
            return  # it waited for another one in between
        late = MAX_LATE_SECONDS / _running_share(event.get("evidence") or {}, reported)
        if reported > passed + MAX_EARLY_SECONDS or passed > (1 + MAX_LATE_SHARE) * reported + late:
            raise ProtocolError(
                f"its timed part lasted {reported:.4g} s by its own clock, but {passed:.4g} s passed between its events"
            )


def _running_share(evidence: Mapping[str, Any], seconds: float) -> float:
    """Return the share of the timed part in which its control group did not stand still for a limit."""
    stopped = evidence.get("throttled_seconds") or 0.0
    return max(MIN_RUNNING_SHARE, 1 - stopped / seconds) if seconds > 0 else 1.0


def _ready(event: Event, collection: CollectorSession | None) -> str:
    if collection is not None:
        collection.before_timing()
        collection.timing_begins(int(event["pid"]))
    return "go"


def _timed(event: Event, collection: CollectorSession | None) -> None:
    if collection is not None:
        collection.timing_ends()


def _untimed_pass_started(event: Event, collection: CollectorSession | None) -> str:
    return "go" if collection is not None and collection.untimed_pass_begins(int(event["pid"])) else "skip"


def _untimed_pass_ended(event: Event, collection: CollectorSession | None) -> None:
    if collection is not None:
        collection.untimed_pass_ends()


_ANSWERS: Mapping[str, Callable[[Event, CollectorSession | None], str | None]] = {
    "ready": _ready,
    "timed": _timed,
    "untimed_pass_started": _untimed_pass_started,
    "untimed_pass_ended": _untimed_pass_ended,
}
