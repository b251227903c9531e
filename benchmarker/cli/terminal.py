"""How wide the output may be, and what the terminal or the system may ask of a command."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

NARROWEST = 40
"""Columns below which nothing could be read."""
_OF_NO_TERMINAL = 80
STDERR = 2
OUTPUT_FAULTS = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT, errno.EBADF, errno.EPIPE)
"""What writing to standard output may end with that is no fault of ours."""


def output_width() -> int:
    """Return the columns of the terminal that standard output goes to; 80 where it goes to none."""
    # As shutil has it, whose import takes with it the compression that its archives need.
    chosen = os.environ.get("COLUMNS", "")
    columns = int(chosen) if chosen.isdecimal() and len(chosen) < 10 else 0
    if not columns and sys.__stdout__ is not None:
        with contextlib.suppress(ValueError, OSError):
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
    return max(NARROWEST, columns or _OF_NO_TERMINAL)


def is_interactive(stream: TextIO) -> bool:
    """Tell whether a stream goes to a terminal that can rewrite what it shows."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def is_coloured(stream: TextIO) -> bool:
    """Tell whether to write colours to a stream: not where NO_COLOR is set (https://no-color.org)."""
    return is_interactive(stream) and not os.environ.get("NO_COLOR")


def print_json(value: object) -> None:
    """Print what programs read."""
    import json

    print(json.dumps(value, indent=2))


def tell(text: str) -> None:
    """Say what people are to know on standard error, as the command."""
    print(f"benchmarker: {text}", file=sys.stderr)


def print_text(text: str, *, flush: bool = False) -> None:
    """Print what people read: statuses, grades and verdicts in colour where that goes to a terminal."""
    if is_coloured(sys.stdout):
        from benchmarker.analysis.text.tones import coloured

        text = coloured(text)
    print(text, flush=flush)


def is_encodable(text: str, stream: TextIO) -> bool:
    """Tell whether a stream can write a text."""
    try:
        text.encode(stream.encoding)
    except UnicodeEncodeError:
        return False
    return True


class ReadOrNot:
    """Standard output of what goes on to its end, whether or not somebody can read it."""

    def __init__(self) -> None:
        self._fault: OSError | None = None

    def print(self, text: str) -> None:
        """Print a line, as long as that can be done."""
        with self.tolerated():
            print(text)

    @contextlib.contextmanager
    def tolerated(self) -> Iterator[None]:
        """Keep the first fault of what the block prints for :meth:`raise_fault`, and drop all output from then on."""
        try:
            yield
            sys.stdout.flush()
        except OSError as error:
            if error.errno not in OUTPUT_FAULTS or error.filename is not None:
                raise
            self._fault = self._fault or error
            drop_output()

    def raise_fault(self) -> None:
        """Raise the first fault.

        Raises
        ------
        OSError
            If there was one.
        """
        if self._fault is not None:
            raise self._fault


def drop_output() -> None:
    """Send standard output nowhere: what Python flushes at exit must not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Forgiving(io.FileIO):
    """A file that takes what cannot be written all the same."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(memoryview(data).cast("B"))


def secure_streams() -> None:
    """Open what was closed of the three standard streams, and let no message fail for want of a reader.

    What is opened next would otherwise take the number of a closed stream, and be written to as one.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    while nowhere <= STDERR:
        nowhere = os.dup(nowhere)
    os.close(nowhere)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    elif isinstance(sys.stdout, io.TextIOWrapper):
        # Half a surrogate pair, of a name or a log in an unknown encoding, is spelled as JSON does.
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as above
    elif sys.stderr is sys.__stderr__:
        encoding = sys.stderr.encoding  # type: ignore[union-attr]
        raw = io.BufferedWriter(_Forgiving(STDERR, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


ERASED = "\r\x1b[K"


def columns_of(stream: TextIO) -> int:
    """Return how much fits on a line of a terminal: one that wraps could not be rewritten."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or _OF_NO_TERMINAL) - 1
    except OSError:
        return _OF_NO_TERMINAL - 1


def notes(*, quiet: bool) -> Callable[[str], None]:
    """Return what says on standard error what a command is doing; nothing where it is to be quiet.

    On a terminal how far an installer is stays on one line; elsewhere it is said from time to time.
    """
    from benchmarker.execution.environments.status import Pacer, Status

    pacer, rewrites = Pacer(), is_interactive(sys.stderr)
    shown = ""

    def note(text: str) -> None:
        nonlocal shown
        if quiet or not (rewrites or pacer.lets_pass(text)):
            return
        before = ERASED if shown else ""
        shown = text[: columns_of(sys.stderr)] if rewrites and isinstance(text, Status) else ""
        if isinstance(text, Status) and rewrites:
            print(f"{before}{shown}", end="", file=sys.stderr, flush=True)
        else:
            print(f"{before}{text}", file=sys.stderr, flush=True)

    return note


def end_as_interrupted() -> None:
    """Asked to end, or left by its terminal, a command shall end its worker and leave a record.

    Not where whoever started it has it ignore that, as ``nohup`` does.
    """
    import signal

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
