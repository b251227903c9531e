"""What tells the rows of a table apart: only aspects that vary become columns, the rest is said once."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.report.cells import value_at

Record = Mapping[str, Any]


def framework_label(record: Record) -> str:
    """Return the framework with its version, e.g. ``"pytorch 2.13.0+cpu"``."""
    framework = record["framework"]
    name = str(framework["name"])
    if framework["full"]:
        return f"{name} {framework['full'].removeprefix(f'{name}-')}"
    version = framework["version"] or framework["requested_version"]
    return f"{name} {version}" if version else name


@dataclass(frozen=True)
class Aspect:
    """Something that may vary over an experiment.

    Parameters
    ----------
    title : str
        Heading of its column.
    show : callable
        Record to text.
    within : str
        Path of the owner: the aspect varies only if records of one owner differ in it. Options of
        different frameworks are no variation, for example.
    caption : str
        How the caption says it, with ``{}`` for the value; empty if it does not.
    """

    title: str
    show: Callable[[Record], str]
    within: str = ""
    caption: str = ""

    def varies(self, records: Sequence[Record]) -> bool:
        """Tell whether it deserves a column."""
        values: dict[Any, set[str]] = defaultdict(set)
        for record in records:
            if text := self.show(record):
                values[value_at(record, self.within) if self.within else None].add(text)
        return any(len(found) > 1 for found in values.values())


def _text(path: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        value = value_at(record, path)
        return "" if value is None else str(value)

    return show


def _device(record: Record) -> str:
    count = record["device"]["count"]
    return f"{record['device']['type']} x {count}" if count and count > 1 else str(record["device"]["type"])


def _threads(record: Record) -> str:
    threads = record["execution"]["threads"]
    return "" if threads is None else "1 thread" if threads == 1 else f"{threads} threads"


def _settings(names: Sequence[str], path: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        values = value_at(record, path) or {}
        return " ".join(f"{name}={_setting(values[name])}" for name in names if name in values)

    return show


def _setting(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if len(text) <= _LONGEST_SETTING:
        return text
    # A text as long as an inline architecture is told apart by its digest.
    return f"{text[:8]}…{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _affinity(record: Record) -> str:
    return ",".join(map(str, record["execution"]["affinity"])) or "none"


_LONGEST_SETTING = 40


def _inputs(record: Record) -> str:
    return str(value_at(record, "inputs.kind") or "resident")


def _data(record: Record) -> str:
    return str(value_at(record, "inputs.data.name") or "drawn")


def _optimizer(record: Record) -> str:
    optimizer = record["optimizer"]
    if record["mode"] != "training" or optimizer is None:
        return ""
    return f"{optimizer['kind']} {optimizer['learning_rate']}"


_FIXED = (
    Aspect("problem", _text("problem.name"), caption="{}"),
    Aspect("mode", _text("mode"), caption="{}"),
    Aspect("batch size", _text("batch_size"), caption="batch size {}"),
    Aspect("precision", _text("precision"), caption="{}"),
    Aspect("device", _device, caption="{}"),
    Aspect("threads", _threads, caption="{}"),
    Aspect("device name", _text("device.name"), within="framework.name"),
    Aspect("optimizer", _optimizer, within="problem.name"),
    Aspect("data", _data, within="problem.name"),
    Aspect("inputs", _inputs),
    Aspect("affinity", _affinity),
    Aspect("seed", _text("seed")),
    Aspect("launcher", _text("execution.launcher")),
    Aspect("Python", _text("environment.python"), within="framework.full"),
    Aspect("environment", _text("environment.kind"), within="framework.full"),
    Aspect("host", _text("platform.host.name")),
    Aspect("processor", _text("platform.cpu.model")),
)


def aspects(records: Sequence[Record]) -> list[Aspect]:
    """Return all aspects of the records, options and parameters that vary among them."""
    options = _varying_names(records, "framework.options", "framework.name")
    parameters = _varying_names(records, "problem.parameters", "problem.name")
    problem, *others = _FIXED
    return [
        problem,
        Aspect("parameters", _settings(parameters, "problem.parameters")),
        Aspect("options", _settings(options, "framework.options")),
        *others,
    ]


def _varying_names(records: Sequence[Record], path: str, owner: str) -> list[str]:
    values: dict[tuple[Any, str], list[Any]] = defaultdict(list)
    for record in records:
        for name, value in (value_at(record, path) or {}).items():
            known = values[value_at(record, owner), name]
            if value not in known:
                known.append(value)
    return list(dict.fromkeys(name for (_, name), known in values.items() if len(known) > 1))
