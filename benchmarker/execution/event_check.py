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
from benchmarker.machine.typed_values import typed

MAX_DEPTH = 16
"""How deep the members of an event may be nested."""
MAX_CHARACTERS = 8 << 20
"""Of all texts of an event, the names of its members included: a record of several such events can still be read."""
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
            harmless: dict[str, Any] = _Harmless(declared.longest_text).value(event, MAX_DEPTH)
            typed(harmless, declared)
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


class _Harmless:
    """Makes the texts of an event such that they can be shown, and sees that its whole numbers fit a machine.

    Parameters
    ----------
    length : int
        The most characters of a text.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._left = MAX_CHARACTERS

    def value(self, value: Any, depth: int) -> Any:
        """Return JSON values, of which ``depth`` levels may be below.

        Raises
        ------
        ValueError
            If they are nested too deeply, have too many characters, or a number is too large.
        """
        if isinstance(value, str):
            return self._text(value, printable_lines)
        if isinstance(value, dict):
            self._descend(depth)
            return {
                self._text(name, printable): self.value(member, depth - 1) for name, member in value.items()
            }
        if isinstance(value, list):
            self._descend(depth)
            # Samples are numbers, and there may be a million of them.
            return [
                item
                if type(item) is int and -_MAX_WHOLE <= item < _MAX_WHOLE
                else self.value(item, depth - 1)
                for item in value
            ]
        if isinstance(value, int) and not -_MAX_WHOLE <= value < _MAX_WHOLE:
            raise ValueError("Expected whole numbers of at most 64 bits, got a larger one")
        return value

    def _text(self, text: str, shown: Callable[[str], str]) -> str:
        found = shown(shortened(text, self._length))
        self._left -= len(found)
        if self._left < 0:
            raise ValueError(f"Expected texts of at most {MAX_CHARACTERS:,} characters together, got more")
        return found

    @staticmethod
    def _descend(depth: int) -> None:
        if not depth:
            raise ValueError(f"Expected at most {MAX_DEPTH} levels, got more")


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
