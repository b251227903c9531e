"""A blueprint file as read: its fields, where each stands, and what of it is not used."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from benchmarker.api.rules import Found, Steps
from benchmarker.errors import UsageError, first_line
from benchmarker.experiment.blueprint.toml_lines import key_lines
from benchmarker.quick_dataclass import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BLUEPRINT_BYTES = 16 << 20


@dataclass(frozen=True)
class Document:
    """A blueprint file.

    Parameters
    ----------
    path : Path
        The file.
    fields : mapping
        Values by the names of :data:`~benchmarker.experiment.blueprint.fields.FIELDS`.
    lines : mapping
        The line, from 1, of each value by its steps.
    found : tuple
        What reading it found to be wrong, with the steps of the field.
    notes : tuple of str
        What is in the file and not used, a sentence each.
    """

    path: Path
    fields: Mapping[str, Any]
    lines: Mapping[Steps, int]
    found: tuple[Found, ...] = ()
    notes: tuple[str, ...] = ()
    names: Mapping[Steps, str] = field(default_factory=dict)
    """How the file itself calls a field, where that is another name."""

    def line(self, steps: Steps) -> int | None:
        """Return the line of a value, or of the nearest one around it."""
        for length in range(len(steps), 0, -1):
            if steps[:length] in self.lines:
                return self.lines[steps[:length]]
        return None

    def name(self, steps: Steps) -> str:
        """Return a value's name as people write it, e.g. ``problem.layers[2].size``."""
        text, rest = "", steps
        for length in range(len(steps), 0, -1):
            if steps[:length] in self.names:
                text, rest = self.names[steps[:length]], steps[length:]
                break
        for step in rest:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


def read_text(path: Path) -> str:
    """Return a blueprint's text.

    Raises
    ------
    UsageError
        If it cannot be read, is not UTF-8 or has a null character.
    """
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"a blueprint must be a file, and '{path}' is not")
        if path.stat().st_size > MAX_BLUEPRINT_BYTES:
            raise UsageError(
                f"a blueprint has at most {MAX_BLUEPRINT_BYTES >> 20} MiB, and '{path}' has more"
            )
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"the blueprint '{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"the blueprint '{path}' must be UTF-8, but byte {error.start} is not") from None
    before, null, _ = text.partition("\0")
    if null:
        line = before.count("\n") + 1
        raise UsageError(f"{path}:{line}: a blueprint is text, but there is a null character here")
    # Some editors begin a file with this mark.
    return text.removeprefix("\ufeff")


def _not_toml(path: Path, text: str, message: str) -> str:
    """Return the reader's message with its line in front, as for every other fault."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place:
        message = f"{message[: place.start()]}, at column {place[2]}"
    line = place[1] if place else len(text.splitlines())
    return f"{path}:{line}: the blueprint is not TOML: {message}"


def read_toml(path: Path) -> Document:
    """Read a TOML blueprint.

    Raises
    ------
    UsageError
        If it cannot be read or is not TOML.
    """
    text = read_text(path)
    try:
        fields = tomllib.loads(text)
        lines = key_lines(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_not_toml(path, text, str(error))) from None
    except ValueError as error:
        raise UsageError(
            f"the blueprint '{path}' has a value that cannot be read: {first_line(error)}"
        ) from None
    except RecursionError:
        raise UsageError(f"the blueprint '{path}' is nested too deeply") from None
    return Document(path, fields, lines)
