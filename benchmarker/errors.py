"""Errors that are printed as one sentence; every other exception is a bug and keeps its traceback."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarker.version import DISTRIBUTION


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


class ProtocolError(BenchmarkerError):
    """A worker said or did what no worker does.

    Parameters
    ----------
    what : str
        What it did, as the end of a sentence, e.g. ``"it sent the event 'ready' a second time"``.

    Attributes
    ----------
    rank : int
        Which one of a group it was.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"the worker broke the protocol: {what}")
        self.what = what
        self.rank = 0


def missing_package(what: str, package: str, extra: str) -> str:
    """Return that something needs a package that is not installed, and what installs the extra that brings it."""
    return f"{what} needs {package}, which is not installed: {install_extra(extra)}"


def install_extra(extra: str) -> str:
    """Return what installs an extra of ours."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(condition: bool, message: str) -> None:
    """Refuse with ``message`` unless ``condition`` holds.

    Raises
    ------
    UsageError
        With the message as it is.
    """
    if not condition:
        raise UsageError(message)


def require_supported(reason: str | None) -> None:
    """Refuse for a reason if there is one.

    Raises
    ------
    UnsupportedError
        With the reason as it is.
    """
    if reason is not None:
        raise UnsupportedError(reason)


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, nothing if none is near."""
    import difflib  # of faults alone: all that is started imports this module

    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def plural(count: int, noun: str) -> str:
    """Return a number with its noun, e.g. ``"1 thread"`` or ``"1,200 processes"``."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its text."""
    text = printable(str(error).strip().partition("\n")[0].strip())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def printable(text: str) -> str:
    """Return a text in which what would break a line, or cannot be seen, is written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines, each as :func:`printable` has it but for its tabs."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)


def shortened(text: str, length: int) -> str:
    """Return the first characters of a text, which says how many are left out."""
    if len(text) <= length:
        return text
    return f"{text[:length]}... ({len(text) - length:,} characters left out)"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else the list of known names."""
    names = sorted(known)
    return nearest(name, names) or (f"; known: {', '.join(names)}" if names else "")
