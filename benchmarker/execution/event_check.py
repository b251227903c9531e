"""The one check of what a worker sends.

Whatever is not declared in :mod:`benchmarker.execution.events` is a :class:`~benchmarker.errors.ProtocolError`.
Texts are taken, but shortened, and what a terminal or a page could take for an instruction is spelled out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from benchmarker.errors import ProtocolError, printable, printable_lines, shortened
from benchmarker.execution.events import Event, kinds_of

MAX_DEPTH = 16
"""How deep the members of an event may be nested."""
MAX_EVENTS, MAX_EVENTS_PER_SECOND = 20_000, 10.0
"""How many events there may be at first, and how many more for each second."""
_MAX_WHOLE = 1 << 63


class EventCheck:
    """Holds all that one worker sends to what is declared.

    Parameters
    ----------
    job : str
        The kind of its job.
    clock : callable
        Returns seconds.
    """

    def __init__(self, job: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds = kinds_of(job)
        self._clock = clock
        self._started = clock()
        self._count = 0
        self._seen: dict[str, type[Event]] = {}

    def check(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event whose texts are short and harmless.

        Raises
        ------
        ProtocolError
            If it is none that may come now.
        """
        self._count += 1
        kind = event["event"]
        declared = self._kinds.get(kind)
        if declared is None:
            raise ProtocolError(f"it sent an event of the unknown kind {_named(kind)}")
        self._check_order(kind, declared)
        try:
            harmless: dict[str, Any] = _harmless(event, MAX_DEPTH, declared.longest_text)
            msgspec.convert(harmless, declared)
        except (msgspec.ValidationError, ValueError) as error:
            raise wrong_event(kind, error) from None
        self._seen[kind] = declared
        return harmless

    def _check_order(self, kind: str, declared: type[Event]) -> None:
        allowed = MAX_EVENTS + MAX_EVENTS_PER_SECOND * (self._clock() - self._started)
        if self._count > allowed:
            raise ProtocolError(f"it sent more than {allowed:,.0f} events, '{kind}' the last")
        last = next((seen for seen in self._seen.values() if seen.is_last), None)
        if last is not None:
            raise ProtocolError(f"it sent the event '{kind}' after '{last.__struct_config__.tag}'")
        if kind in self._seen and not declared.repeats:
            raise ProtocolError(f"it sent the event '{kind}' a second time")
        if declared.after is not None and declared.after not in self._seen:
            raise ProtocolError(f"it sent the event '{kind}' before '{declared.after}'")


def _harmless(value: Any, depth: int, length: int) -> Any:
    """Return JSON values whose texts can be shown, and whose whole numbers a machine can hold.

    Parameters
    ----------
    depth : int
        How many levels may be below.
    length : int
        The most characters of a text.

    Raises
    ------
    ValueError
        If they are nested too deeply, or a number is too large.
    """
    if isinstance(value, str):
        return printable_lines(shortened(value, length))
    if isinstance(value, dict):
        if not depth:
            raise ValueError(f"Expected at most {MAX_DEPTH} levels, got more")
        return {
            printable(shortened(name, length)): _harmless(member, depth - 1, length)
            for name, member in value.items()
        }
    if isinstance(value, list):
        if not depth:
            raise ValueError(f"Expected at most {MAX_DEPTH} levels, got more")
        # Samples are numbers, and there may be a million of them.
        return [
            item
            if type(item) is int and -_MAX_WHOLE <= item < _MAX_WHOLE
            else _harmless(item, depth - 1, length)
            for item in value
        ]
    if isinstance(value, int) and not -_MAX_WHOLE <= value < _MAX_WHOLE:
        raise ValueError("Expected whole numbers of at most 64 bits, got a larger one")
    return value


def _named(kind: str) -> str:
    return f"'{printable(shortened(kind, 60))}'"


def wrong_event(kind: str, error: Exception, member: str | None = None) -> ProtocolError:
    """Return what is told of an event that is not as it is declared.

    Parameters
    ----------
    kind : str
        Of the event.
    error : Exception
        The decoder's, whose sentence says what is wrong, and where.
    member : str, optional
        The member of the event that was decoded.
    """
    sentence, _, place = str(error).replace("`", "").partition(" - at ")
    if member is not None:
        place = f"$.{member}{place.removeprefix('$')}"
    words = printable(shortened(sentence[:1].lower() + sentence[1:], 300))
    where = f" at {printable(shortened(place, 120))}" if place else ""
    return ProtocolError(f"its event '{kind}' is wrong{where}: {words}")
