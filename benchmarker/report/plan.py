"""The runs of an experiment before any of them: what they have in common, then a row for each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker import registry
from benchmarker.experiment import RunSpec
from benchmarker.framework import Optimizer
from benchmarker.hyperparameters import constants
from benchmarker.planning import refusal
from benchmarker.report.layout import Column, table

_LONGEST_VALUE = 40


def plan_table(runs: Sequence[RunSpec], *, skipped: Collection[int] = (), width: int = 100) -> str:
    """Return a table with one row for each run, in their order.

    Parameters
    ----------
    runs : sequence of RunSpec
        The experiment.
    skipped : collection of int
        Positions of runs that have a record already.
    width : int
        Characters a line should have at most.
    """
    shown = {title: [show(run) for run in runs] for title, show in _ASPECTS.items()}
    varying = {title: texts for title, texts in shown.items() if len(set(texts)) > 1}
    common = [
        text if title in ("problem", "mode", "precision", "device") else f"{title} {text}"
        for title, (text, *_) in shown.items()
        if title not in varying and title != "process" and text
    ]
    columns = [Column("run", tuple(str(index + 1) for index in range(len(runs))), numeric=True)]
    columns += [Column(title, tuple(texts)) for title, texts in varying.items()]
    states = tuple(_state(run, index in skipped) for index, run in enumerate(runs))
    if any(states):
        columns.append(Column("", states))
    left = len(runs) - len(skipped)
    total = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
    if skipped:
        total += f", {len(skipped)} of them done, {left} to do"
    return "\n".join([*textwrap.wrap(", ".join(common), width), "", table(columns, width), "", total])


def _state(run: RunSpec, done: bool) -> str:
    return "done" if done else refusal(run) or ""


def _framework(run: RunSpec) -> str:
    return f"{run.framework}=={run.framework_version}" if run.framework_version else run.framework


def _parameters(run: RunSpec) -> str:
    return _settings(run.problem_parameters, registry.problem(run.problem).configure({}))


def _options(run: RunSpec) -> str:
    return _settings(run.framework_options, asdict(registry.framework(run.framework).options()))


def _settings(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return the values that are not the defaults."""
    return " ".join(f"{n}={_value(v)}" for n, v in values.items() if v != defaults.get(n))


def _value(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _optimizer(run: RunSpec) -> str:
    if run.mode != "training":
        return ""
    kind, usual = run.optimizer.kind, Optimizer.default(run.optimizer.kind)
    chosen = {name: getattr(run.optimizer, name) for name in constants(kind)}
    told = {n: v for n, v in chosen.items() if n == "learning_rate" or v != getattr(usual, n)}
    return " ".join([kind, *(f"{name}={value:g}" for name, value in told.items())])


def _amount(run: RunSpec) -> str:
    if run.window is not None:
        return f"{run.window:g} s"
    return f"{run.steps:,}" if run.steps else "about 3 s"


def _number(value: Any) -> str:
    return "" if value is None else str(value)


_ASPECTS: Mapping[str, Callable[[RunSpec], str]] = {
    "problem": lambda run: run.problem,
    "parameters": _parameters,
    "framework": _framework,
    "options": _options,
    "mode": lambda run: run.mode,
    "batch size": lambda run: str(run.batch_size),
    "precision": lambda run: run.precision,
    "optimizer": _optimizer,
    "device": lambda run: " ".join([run.device, *map(str, run.gpus)]),
    "threads": lambda run: str(run.threads),
    "affinity": lambda run: ",".join(map(str, run.affinity)),
    "seed": lambda run: str(run.seed),
    "data": lambda run: run.data or "",
    "inputs": lambda run: run.inputs if run.inputs != "resident" else "",
    "steps": _amount,
    "warm-up": lambda run: _number(run.warmup),
    "environment": lambda run: run.environment if run.environment != "auto" else "",
    "launcher": lambda run: run.launcher if run.launcher != "local" else "",
    "process": lambda run: str(run.repetition + 1),
}
