"""What stood around a number and may move it: versions, the kernel, the commit; and what of it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarker.report.asked import value_at

_PLAIN = {
    "Python": "environment.python",
    "benchmarker": "benchmarker_version",
    "kernel": "platform.os.kernel",
    "C library": "platform.os.libc.version",
    "microcode": "platform.cpu.microcode",
    "governor": "platform.cpu.governor",
    "turbo": "platform.cpu.turbo",
    "host": "platform.host.name",
}
_COMMITS = {
    "commit": "platform.source_control.working_directory",
    "benchmarker commit": "platform.source_control.benchmarker",
}
_COMMIT_LENGTH = 10


@dataclass(frozen=True)
class Facts:
    """What may move a number.

    Parameters
    ----------
    known : tuple of (str, str)
        What a person calls it, and its value; what a record does not know is not there.
    packages : tuple of (str, str)
        Name and version of each Python package, but the framework's own.
    """

    known: tuple[tuple[str, str], ...]
    packages: tuple[tuple[str, str], ...]


def facts_of(record: Mapping[str, Any]) -> Facts:
    """Return what a record knows."""
    framework = record["framework"]
    found = {framework["name"]: framework["version"]}
    found |= {name: value_at(record, path) for name, path in _PLAIN.items()}
    found |= {name: _commit(value_at(record, path)) for name, path in _COMMITS.items()}
    packages = record["environment"]["packages"] or {}
    return Facts(
        tuple((name, str(value)) for name, value in found.items() if value not in (None, "")),
        tuple(
            (name, str(version)) for name, version in packages.items() if name != framework["distribution"]
        ),
    )


def _commit(found: Any) -> str | None:
    if not isinstance(found, Mapping) or not found.get("commit"):
        return None
    return str(found["commit"])[:_COMMIT_LENGTH] + (" with changes" if found.get("dirty") else "")


def differences(before: Facts, after: Facts) -> tuple[str, ...]:
    """Return what changed, each in a few words, e.g. ``"kernel 6.1 -> 6.6"``; what one side does not know did not."""
    had, has = dict(before.packages), dict(after.packages)
    found = [*_changed(dict(before.known), dict(after.known)), *_changed(had, has)]
    if had and has:
        found += [f"{name} added" for name in sorted(has.keys() - had.keys())]
        found += [f"{name} removed" for name in sorted(had.keys() - has.keys())]
    return tuple(found)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {before[name]} -> {value}"
        for name, value in after.items()
        if name in before and before[name] != value
    ]
