"""Errors that are printed as one sentence; every other exception is a bug and keeps its traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BenchmarkerError(Exception):
    """Base of all errors whose text is meant for the user.

    Attributes
    ----------
    exit_status : int
        Exit status of the command when the error reaches it.
    """

    exit_status = 1


class UsageError(BenchmarkerError):
    """What was asked for is wrong: the message states the rule, the value received and a way out."""

    exit_status = 2


class PluginError(UsageError):
    """A chosen plugin cannot be used: it fails to import, returns nonsense, or its name is claimed twice."""


class EnvironmentCreationError(BenchmarkerError):
    """The interpreter for a framework could not be made or found."""


class UnsupportedError(BenchmarkerError):
    """A framework cannot do what was asked (operator, precision, mode or device)."""


class StoreError(BenchmarkerError):
    """A record could not be read or written."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, nothing if none is near."""
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its text."""
    text = printable(str(error).strip().partition("\n")[0].strip())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def printable(text: str) -> str:
    """Return a text in which what would break a line, or cannot be seen, is written as an escape."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else the list of known names."""
    names = sorted(known)
    return nearest(name, names) or (f"; known: {', '.join(names)}" if names else "")
