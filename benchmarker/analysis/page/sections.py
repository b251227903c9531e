"""All that the page tells of one run, as plain lists that the page's script turns into elements.

A section is ``{"title", "parts"}``; a part is one of ``pairs`` (label and text), ``list``, ``table``, ``code`` and
``samples``, and may be folded away under a few words (``fold``). Everything in them is text or numbers.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.charts.downsampling import kept, rounded
from benchmarker.analysis.text import profile as profiled
from benchmarker.analysis.text import quality
from benchmarker.analysis.text.summary import summary_lines
from benchmarker.analysis.text.units import significant, size
from benchmarker.machine.secrets import is_secret_name
from benchmarker.records.lookup import Record, number_at, value_at
from benchmarker.records.precision import CONTAMINATED, usable_for

Part = dict[str, Any]
Section = dict[str, Any]
MAX_TENSORS = 8
MAX_NODES = 20
_MAX_LOG = 20_000
_STATISTICS = ("median", "mean", "std", "min", "p5", "p25", "p75", "p90", "p95", "p99", "max")
_EVIDENCE = (
    ("steal_share", "taken by the hypervisor", 100, "%"),
    ("cpu_pressure_share", "a task waited for a core", 100, "%"),
    ("io_pressure_share", "a task waited for a disk", 100, "%"),
    ("memory_pressure_share", "a task waited for memory", 100, "%"),
    ("run_delay_share", "the worker waited for a core", 100, "%"),
    ("threads_busy", "cores that the worker used", 1, ""),
    ("foreign_cores", "cores that others used", 1, ""),
    ("involuntary_switches", "times the kernel took a core away", 1, ""),
    ("major_faults", "pages that came from a disk", 1, ""),
    ("throttled_seconds", "held up by a limit", 1, "s"),
    ("thermal_throttles", "throttled because of heat", 1, ""),
)


def sections(record: Record, *, points: int) -> list[Section]:
    """Return the sections of a record, those with nothing to say left out.

    Parameters
    ----------
    record : dict
        Of the newest schema version.
    points : int
        The most samples to keep for its picture.
    """
    found = (
        ("Result", _result(record)),
        ("Samples", _samples(record["timing"], points)),
        ("Operators", _operators(record.get("profile"))),
        ("Trust", _trust(record.get("trust"))),
        ("Verification", _verification(record["verification"])),
        ("What was asked", _specification(record)),
        ("Platform", _platform(record)),
        ("Environment", _environment(record)),
        ("Log", _log(record)),
        ("Run it again", [_code(_command(record["command"]), copy=True)]),
    )
    return [{"title": title, "parts": parts} for title, parts in found if parts]


def _pairs(rows: Iterable[tuple[str, Any]], fold: str = "") -> Part:
    """Return a part of labels and texts without those that are not known."""
    shown = [[label, str(text)] for label, text in rows if text not in (None, "")]
    return {"kind": "pairs", "rows": shown, "fold": fold}


def _code(text: str, *, copy: bool = False) -> Part:
    return {"kind": "code", "text": text, "copy": copy, "fold": ""}


def _result(record: Record) -> list[Part]:
    return [_pairs(summary_lines(record))]


def _samples(timing: Mapping[str, Any], points: int) -> list[Part]:
    warmup, timed = timing["warmup_samples_seconds"] or [], timing["samples_seconds"] or []
    if not timed:
        return []
    step = timing["step_seconds"] or {}
    statistics = [
        (name, f"{significant(step[name] * 1e3)} ms") for name in _STATISTICS if step.get(name) is not None
    ]
    return [
        {
            "kind": "samples",
            "warmup": _curve(warmup, max(2, points // 4)),
            "timed": _curve(timed, points),
            "steady": value_at(timing, "steady_state.start") or 0,
            "block": timing.get("block_steps") or 1,
            "fold": "",
        },
        _pairs(statistics, fold="all statistics of a step"),
    ]


def _curve(seconds: Sequence[float], limit: int) -> dict[str, Any]:
    """Return samples in milliseconds; ``at`` has their places if some were left out."""
    places = kept(seconds, limit)
    curve: dict[str, Any] = {"count": len(seconds), "ms": [rounded(seconds[i] * 1e3, 4) for i in places]}
    return curve if len(places) == len(seconds) else {**curve, "at": places}


def _operators(profile: Mapping[str, Any] | None) -> list[Part]:
    if not profile:
        return []
    if not profile["steps"]:
        return [_pairs([("reason", profile["reason"])])]
    head = ["node", "operator", "share of the step", "forward", "backward", "the framework's names"]
    shown = profiled.rows(profile, MAX_NODES)
    return [{"kind": "table", "caption": profiled.heading(profile), "head": head, "rows": shown, "fold": ""}]


def _trust(trust: Mapping[str, Any] | None) -> list[Part]:
    if not trust:
        return []
    reasons = [f"{reason['severity']}: {reason['text']}" for reason in trust["reasons"]]
    evidence = trust["evidence"] or {}  # nothing is known of an imported record
    facts = [
        (label, f"{significant(evidence[name] * factor, 3)} {unit}".strip())
        for name, label, factor, unit in _EVIDENCE
        if evidence.get(name) is not None
    ]
    foreign = [(str(other["name"] or "a process"), f"{significant(other['cores'], 3)} cores")
               for other in evidence.get("foreign") or ()]  # fmt: skip
    doctor = trust["doctor"]
    warned = [
        (f"doctor: {name}", ", ".join(map(str, doctor[name])))
        for name in ("warnings", "unknown")
        if doctor.get(name)
    ]
    return [
        {
            "kind": "list",
            "items": [
                f"disturbance: {trust['grade']}",
                *(reasons or ["nothing disturbed it"]),
                usable_for(trust["precision"], _excluding(trust)),
                *map(quality.finding, trust["findings"]),
            ],
            "fold": "",
        },
        _pairs([*facts, *foreign, *warned], fold="what the machine did meanwhile"),
    ]


def _excluding(trust: Mapping[str, Any]) -> Iterator[str]:
    yield from (found["kind"] for found in trust["findings"] if found["excludes"])
    if trust["grade"] == CONTAMINATED:
        yield CONTAMINATED


def _verification(verification: Mapping[str, Any]) -> list[Part]:
    tensors = sorted(verification["tensors"] or (), key=_share_used, reverse=True)
    parts = [
        _pairs(
            (
                ("verdict", verification["status"]),
                ("reason", verification["reason"]),
                ("compared with", verification["reference"]),
                ("samples", verification["samples"]),
                ("tolerance", verification["tolerance_reason"]),
            )
        )
    ]
    if tensors:
        shown = [_tensor(tensor) for tensor in tensors[:MAX_TENSORS]]
        parts.append(
            {
                "kind": "table",
                "caption": f"the worst {len(shown)} of {len(tensors)} tensors"
                if len(tensors) > 1
                else "the tensor",
                "head": [
                    "tensor",
                    "kind",
                    "largest error",
                    "allowed",
                    "error of the norm",
                    "allowed",
                    "passed",
                ],
                "rows": shown,
                "fold": "",
            }
        )
    proof = verification["after_timing"]
    if proof:
        items = [
            f"{check['name']}: {check['status'].replace('_', ' ')}, {check['detail']}"
            for check in proof["checks"]
        ]
        title = f"after the timed part: {proof['status'].replace('_', ' ')}, {proof['seconds']:.2g} s"
        parts.append({"kind": "list", "items": items, "fold": title})
    return [part for part in parts if part.get("rows") or part.get("items")]


def _tensor(tensor: Mapping[str, Any]) -> list[str]:
    errors = ("max_relative_error", "tolerance", "norm_error", "norm_tolerance")
    numbers = ["not finite" if tensor[name] is None else f"{tensor[name]:.2g}" for name in errors]
    return [str(tensor["name"]), str(tensor.get("kind") or ""), *numbers, "yes" if tensor["passed"] else "no"]


def _share_used(tensor: Mapping[str, Any]) -> float:
    """Return how much of its tolerance a tensor used; one that is not finite used all."""
    pairs = (("max_relative_error", "tolerance"), ("norm_error", "norm_tolerance"))
    return max(
        math.inf
        if tensor.get(error) is None or not tensor.get(allowed)
        else float(tensor[error] / tensor[allowed])
        for error, allowed in pairs
    )


def _specification(record: Record) -> list[Part]:
    problem, execution = record["problem"], record["execution"]
    rows = [
        ("problem", f"{problem['name']} ({problem['task']})" if problem["task"] else problem["name"]),
        ("source", problem["source"]),
        ("parameters", _settings(problem["parameters"])),
        ("options", _settings(record["framework"]["options"])),
        ("mode", record["mode"]),
        ("batch size", record["batch_size"]),
        ("precision", record["precision"]),
        ("optimizer", _settings(record["optimizer"])),
        ("seed", record["seed"]),
        ("inputs", value_at(record, "inputs.data.name") or record["inputs"]["kind"]),
        ("process", f"{record['repetition'] + 1}, in round {value_at(record, 'replication.round')}"
         if record.get("replication") else record["repetition"] + 1),
        ("start", execution["start"]),
        ("threads", execution["threads"]),
        ("bound to CPUs", ", ".join(map(str, execution["affinity"]))),
    ]  # fmt: skip
    return [_pairs(rows)]


def _platform(record: Record) -> list[Part]:
    """Return every plain value that the collectors read, and what they could not read and why."""
    absent = [
        (name, f"{state['status']}: {state['reason']}")
        for name, state in record["collectors"].items()
        if state["status"] != "ok"
    ]
    main = [(name, value_at(record, path)) for name, path in _MACHINE]
    memory = number_at(record, "platform.memory.total_bytes")
    rest = [(name, text) for name, text in _flat(record["platform"], "") if name.split(".")[0] != "load"]
    return [
        _pairs([*main, ("memory", size(memory) if memory else None), *_gpus(record)]),
        _pairs(rest, fold="everything that was read about the machine"),
        _pairs(absent, fold="what could not be read"),
    ]


_MACHINE = (
    ("host", "platform.host.name"),
    ("processor", "platform.cpu.model"),
    ("physical cores", "platform.cpu.physical_cores"),
    ("logical cores", "platform.cpu.logical_cores"),
    ("system", "platform.os.distribution.name"),
    ("kernel", "platform.os.kernel"),
    ("virtual machine", "platform.virtualization.machine.kind"),
    ("container", "platform.virtualization.container.kind"),
)


def _gpus(record: Record) -> Iterator[tuple[str, str]]:
    gpus = value_at(record, "platform.gpus")
    for index, gpu in enumerate(gpus if isinstance(gpus, list) else ()):
        yield f"GPU {index}", str(gpu.get("name") if isinstance(gpu, Mapping) else gpu)


def _image(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is told of the container that the interpreter was in."""
    if container:
        yield "image", f"{container['image']} ({container['engine']})"
        yield "its digest", container["digest"]
        yield "its system", container["system"].get("name") or ""


def _build(environment: Mapping[str, Any]) -> str | None:
    build = environment.get("build")
    without = build and environment.get("profile_guided") is False
    return f"{build}; not optimized by a profile" if without else build


def _environment(record: Record) -> list[Part]:
    environment, framework = record["environment"], record["framework"]
    packages = environment["packages"] or {}
    return [
        _pairs(
            [
                (
                    "Python",
                    " ".join(
                        str(part) for part in (environment["implementation"], environment["python"]) if part
                    ),
                ),
                ("Python build", _build(environment)),
                ("interpreter", environment["kind"]),
                *_image(environment.get("container") or {}),
                ("framework", framework["full"]),
                ("libraries", _settings(framework["libraries"])),
                ("composed operators", ", ".join(map(str, framework["composed_operators"]))),
                ("variables", _settings(_variables(record))),
            ]
        ),
        _pairs(packages.items(), fold=f"{len(packages)} packages"),
    ]


def _variables(record: Record) -> dict[str, str]:
    """Return the recorded variables; records from before 0.6.0 may have some that are named like secrets."""
    variables = record["execution"]["environment_variables"]
    return {name: value for name, value in variables.items() if not is_secret_name(name)}


def _log(record: Record) -> list[Part]:
    error = record["error"] or {}
    rows = [(name, error.get(name)) for name in ("stage", "type", "message")]
    pairs = _pairs([*rows, ("whole log, next to the record", record["log"])])
    tail = error.get("log_tail")
    parts = [pairs, *([_code(tail[-_MAX_LOG:])] if tail else [])]
    return [part for part in parts if part.get("rows") or part.get("text")]


def _command(words: Sequence[str]) -> str:
    """Return the command for a shell, an option a line."""
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    return " \\\n  ".join([shlex.join(words[:first]), *map(shlex.quote, words[first:])])


def _settings(values: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name}={_plain(value)}" for name, value in (values or {}).items() if value is not None)


def _plain(value: Any) -> str:
    """Return a value as it is written on the command line and in a record."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the plain values of nested JSON by dotted names; lists of plain values as one text."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _flat(member, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        for index, item in enumerate(value):
            yield from _flat(item, f"{name}.{index}")
    elif isinstance(value, list):
        yield name, ", ".join(map(_plain, value))
    elif value is not None:
        yield name, _plain(value)
