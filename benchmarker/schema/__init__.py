"""The schema of a record: one JSON Schema file for each major version, and what JSON Schema cannot say."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from benchmarker.errors import nearest
from benchmarker.schema.consistency import inconsistencies
from benchmarker.schema.paths import json_path

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

Record = dict[str, Any]

NEWEST = "1.4"
"""The version that this release writes."""

_MAJORS = (1,)
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)")
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


_RULES = {
    "const": "must be '{}'",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "minLength": "must have at least {} character(s)",
    "pattern": "must match {}",
    "minItems": "must have at least {} item(s)",
    "maxItems": "must have at most {} item(s)",
}


@dataclass(frozen=True)
class Fault:
    """Something wrong with a record.

    Parameters
    ----------
    path : str
        Where, as a JSON path, e.g. ``$.timing.samples_seconds[3]``.
    message : str
        What, in plain words.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path} {self.message}"


def load_schema(version: str = NEWEST) -> dict[str, Any]:
    """Return the JSON Schema for a version of the record; callers must not change it.

    Raises
    ------
    ValueError
        If this release does not know the version.
    """
    reason = version_fault(version)
    if reason:
        raise ValueError(f"schema_version {reason}")
    return _schema_file(_numbers(version)[0])


def version_fault(version: Any) -> str | None:
    """Return why this release cannot read records of a version, or ``None`` if it can."""
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        return f"must be a text like '{NEWEST}', got {_shown(version)}"
    return _unknown(version)


@functools.lru_cache
def _unknown(version: str) -> str | None:
    if _numbers(version) > _numbers(NEWEST):
        return f"'{version}' is newer than '{NEWEST}', the newest that this release knows: update benchmarker"
    major = _numbers(version)[0]
    if major not in _MAJORS or version not in _schema_file(major)["properties"]["schema_version"]["enum"]:
        return f"'{version}' never existed; the newest is '{NEWEST}'"
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@functools.cache
def _schema_file(major: int) -> dict[str, Any]:
    text = resources.files(__name__).joinpath(f"record-{major}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@functools.cache
def _validator(major: int) -> Any:
    # Imported here because it costs more than the rest of the command's start.
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(_schema_file(major))


def validate(record: Any, *, finite: bool = False) -> list[Fault]:
    """Return everything that is wrong with a record; an empty list for a valid one.

    First that numbers are finite, then the JSON Schema of the record's own version; if all that holds, also
    what ties fields to each other.

    Parameters
    ----------
    record : Any
        What is said to be a record.
    finite : bool
        Whether its numbers are known to be finite, as all are that orjson reads.
    """
    if not isinstance(record, dict):
        return [Fault("$", f"must be an object, got {_shown(record)}")]
    if "schema_version" not in record:
        return [Fault("$.schema_version", "is missing")]
    reason = version_fault(record["schema_version"])
    if reason:
        return [Fault("$.schema_version", reason)]
    if not finite:
        faults = [Fault(json_path(steps), "must be a finite number") for steps in _not_finite(record, ())]
        if faults:
            return faults
    return shape_faults(record) or [Fault(path, message) for path, message in inconsistencies(record)]


def shape_faults(record: Record, *, unknown: bool = True) -> list[Fault]:
    """Return what is wrong with a record's members and their types; its version must be one that is known.

    This holds also for a record that was brought into the newest shape, of which an older version did not know all.
    Members that the schema does not know are no fault where they are not to be ``unknown``.
    """
    try:
        return _found(record, unknown)
    except UnicodeEncodeError:
        # A name has half a surrogate pair, for which the validator has no text.
        return _found(_encodable(record), unknown)
    except ValueError as error:
        return [Fault("$", f"is not JSON: {error}")]


def _found(record: Record, unknown: bool) -> list[Fault]:
    major = _numbers(record["schema_version"])[0]
    # Whether there is a fault at all is told much sooner than which.
    if _validator(major).is_valid(record):
        return []
    every = _validator(major).iter_errors(record)
    errors = [error for error in every if unknown or error.schema_path[-1] != "additionalProperties"]
    # A dict, because a missing member is reported once for each that is missing.
    return list(dict.fromkeys(fault for error in errors for fault in _faults(error, _schema_file(major))))


def _encodable(value: Any) -> Any:
    """Return a value whose members have names that can be encoded."""
    if isinstance(value, dict):
        names = (name.encode("utf-8", "backslashreplace").decode() for name in value)
        return dict(zip(names, map(_encodable, value.values())))
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def _not_finite(value: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield where numbers are that a double cannot hold; JSON Schema has no rule for them."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _not_finite(member, (*steps, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, (*steps, index))
    elif isinstance(value, (int, float)) and not _is_finite(value):
        yield steps


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _faults(error: ValidationError, schema: Mapping[str, Any]) -> Iterator[Fault]:
    """Turn one error of the validator into faults, one for each field that is missing or unknown."""
    steps = error.instance_path
    instance: Any = error.instance
    *place, rule = error.schema_path
    holder = _at(schema, place)
    wanted = holder[rule]
    if rule == "required":
        for name in wanted:
            if name not in instance:
                yield Fault(json_path([*steps, name]), "is missing")
    elif rule == "additionalProperties":
        known = holder["properties"]
        for name in instance:
            if name not in known:
                yield Fault(json_path([*steps, name]), f"is not a field of a record{nearest(name, known)}")
    else:
        message = _words(str(rule), wanted)
        yield Fault(json_path(steps), f"{message}, got {_shown(instance)}" if message else error.message)


def _at(schema: Any, place: Sequence[str | int]) -> Any:
    for step in place:
        schema = schema[step]
    return schema


def _words(rule: str, wanted: Any) -> str | None:
    """Return a rule of JSON Schema in plain words, ``None`` for one that the schemas do not use."""
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"must be {' or '.join(_KINDS[kind] for kind in kinds)}"
    if rule == "enum":
        return f"must be one of {', '.join(map(_shown, wanted))}"
    form = _RULES.get(rule)
    return form.format(wanted) if form else None


def _shown(value: Any) -> str:
    """Return a value as JSON, cut to a length that fits on a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
