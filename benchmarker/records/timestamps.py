"""Points in time as people write them: ``7d``, ``2026-11-01``, ``2026-11-01T12:00Z``."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from benchmarker.api.given_values import shown
from benchmarker.errors import UsageError

_AGO = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_YEARS = (1970, 2261)
"""The years that every library of tables and pictures can hold."""
_LAST_DAY = datetime(9999, 12, 31, tzinfo=timezone.utc)
_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"


def beginning(value: str | date) -> datetime:
    """Return the first moment of what was written; what has no time zone is in UTC.

    Raises
    ------
    UsageError
        If it is no point in time.
    """
    return _whole(value)[0]


def end(value: str | date) -> datetime:
    """Return the moment at which what was written is over: of a day, the beginning of the next."""
    moment, is_day = _whole(value)
    return moment + timedelta(days=1) if is_day and moment < _LAST_DAY else moment


def as_written(moment: datetime) -> str:
    """Return a moment as records have it; such texts sort as the moments do."""
    return moment.astimezone(timezone.utc).strftime(_FORM).rjust(27, "0")


def from_record(text: str) -> datetime:
    """Return the moment of a record's text.

    Raises
    ------
    ValueError
        If it is none.
    """
    return _in_utc(datetime.fromisoformat(text.replace("Z", "+00:00")))


def _whole(value: str | date) -> tuple[datetime, bool]:
    if isinstance(value, datetime):
        return _in_utc(value), False
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc), True
    try:
        ago = _AGO.fullmatch(value)
        if ago:
            return datetime.now(timezone.utc) - timedelta(**{_UNITS[ago[2]]: int(ago[1])}), False
        return from_record(value), len(value) == len("2026-11-01")
    except (TypeError, AttributeError, ValueError, OverflowError):
        raise UsageError(
            f"a point in time must be like 7d, 12h, 2026-11-01 or 2026-11-01T12:00Z, got {shown(value)}"
        ) from None


def time_fault(text: str) -> str | None:
    """Return why the time of a record is none; None if it is one that calendars and pictures can show."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (TypeError, ValueError, AttributeError) as error:
        return f"is not a time: {error}"
    if moment.tzinfo is None:
        return "is not a time: it has no time zone"
    if not _YEARS[0] <= moment.year <= _YEARS[1]:
        return f"is not a time of a run: its year must be {_YEARS[0]} to {_YEARS[1]}, got {moment.year}"
    return None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc)
