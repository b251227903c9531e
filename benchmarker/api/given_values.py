"""Values as people and files give them: how they are shown, read and told apart."""

from __future__ import annotations

import errno
import json
import operator
import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.errors import UsageError, printable


def shown(value: Any) -> str:
    """Return a value as people write it, cut to a length that fits on a line."""
    text = printable(f"'{value}'" if isinstance(value, str) else _spelled(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextmanager
def possible_paths() -> Iterator[None]:
    """Turn the system's refusal of a path that is too long into a sentence.

    Raises
    ------
    UsageError
        With the path.
    """
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise UsageError(f"no path can be as long as {shown(str(error.filename))}") from None


def path_of(name: str, value: object) -> Path | None:
    """Return a keyword's value as a path; None of None.

    Raises
    ------
    UsageError
        If it is none.
    """
    if value is None:
        return None
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(text, str) or not text or "\0" in text:
        raise UsageError(f"{name} must be a path, got {shown(value)}")
    return Path(text)


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with a user's home in place of ``~``, which is a name like any where there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _spelled(value: Any) -> str:
    for spell in (json.dumps, str):
        try:
            return spell(value)
        except (TypeError, ValueError, RecursionError):
            continue
    return f"a value of type {type(value).__name__}"


def plain(value: Any) -> Any:
    """Return a value of Python as JSON and TOML have it, all the way down.

    Tuples and arrays become lists, integers of other types (NumPy's) Python's own, paths text. What has no
    such form stays as it is, for a rule to refuse.

    Raises
    ------
    RecursionError
        If the value contains itself.
    """
    if value is None or isinstance(value, (bool, int, float, str, type)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    try:
        return operator.index(value)
    except TypeError:
        # Other scalars and arrays of NumPy, which is not imported for it.
        return value.tolist() if hasattr(value, "tolist") else value


_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"(?i)[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)", re.ASCII)


def whole_number(text: str) -> int:
    """Return the whole number of a text in ASCII digits; Python's ``int`` also takes other scripts and ``1_0``.

    Raises
    ------
    ValueError
        If it is none, or has more digits than Python takes.
    """
    if not _WHOLE.fullmatch(text.strip(" ")):
        raise ValueError(text)
    return int(text)


def real_number(text: str) -> float:
    """Return the number of a text in ASCII digits, which may be infinite or not a number, for a rule to refuse.

    Raises
    ------
    ValueError
        If it is none.
    """
    if not _REAL.fullmatch(text.strip(" ")):
        raise ValueError(text)
    return float(text)


def repeated(values: Sequence[Any]) -> Iterator[int]:
    """Yield the position of each value that stands in the list before, as JSON Schema has it: true is not 1."""
    seen: set[Hashable] = set()
    for index, value in enumerate(values):
        key = _comparable(value)
        if key in seen:
            yield index
        seen.add(key)


def _comparable(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple(map(_comparable, value))
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), _comparable(member)) for name, member in value.items()))
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return (isinstance(value, bool), value)
