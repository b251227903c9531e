"""From a record to the experiment that runs it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.experiment import Experiment, Request, RunSpec, specification
from benchmarker.hyperparameters import constants

_ADDED_SINCE = specification(RunSpec("", ""))
"""What an older specification lacks stands at its default."""


def experiment_of(record: Mapping[str, Any]) -> Experiment:
    """Return the experiment of one cell that has the specification of a record.

    Parameters
    ----------
    record : mapping
        A valid record with a ``specification`` (since 1.1).
    """
    asked = {**_ADDED_SINCE, **record["specification"]}
    per_epoch, steps = asked["samples_per_epoch"], asked["steps"]
    by_length = steps is None and asked["window"] is None
    return Experiment(
        frameworks=(Request(asked["framework"], _single(asked["framework_options"])),),
        problems=(Request(asked["problem"], _single(asked["problem_parameters"])),),
        modes=(asked["mode"],),
        batch_sizes=(asked["batch_size"],),
        precisions=(asked["precision"],),
        optimizers=_optimizers(asked["optimizer"]),
        devices=(asked["device"],),
        gpus=_set(asked["gpus"]),
        threads=(asked["threads"],),
        affinity=_set(asked["affinity"]),
        seeds=(asked["seed"],),
        steps=() if per_epoch else _given(steps),
        warmup=_given(asked["warmup"]),
        windows=_given(asked["window"]),
        samples_per_epoch=_given(per_epoch),
        epochs=_given(steps * asked["batch_size"] // per_epoch if per_epoch and steps else None),
        data=_given(asked["data"]),
        data_dir=asked["data_dir"],
        inputs=(asked["inputs"],),
        sampling=(asked["sampling"],),
        seconds=asked["target_seconds"] if by_length else None,
        min_samples=asked["minimum_samples"] if by_length else None,
        breakdown=asked["breakdown"],
        micro_batches=_given(asked["micro_batch"]),
        fold_batch_norm=asked["fold_batch_norm"],
        monitors=None if asked["monitors"] is None else tuple(asked["monitors"]),
        verify=asked["verify"],
        timeout=record["execution"]["timeout_seconds"],
        environments=(asked["environment"],),
        launchers=(asked["launcher"],),
        starts=(asked["start"],),
        compile_caches=(asked["compile_cache"],),
        anonymous="--anonymous" in record["command"],
    )


def _given(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _set(values: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return (tuple(values),) if values else ()


def _single(settings: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: (value,) for name, value in settings.items()}


def _optimizers(asked: Mapping[str, Any] | None) -> tuple[Request, ...]:
    if asked is None:
        return ()
    own = {name: asked[name] for name in constants(asked["kind"]) if name in asked}
    return (Request(asked["kind"], _single(own)),)


def with_interpreter(experiment: Experiment, version: str | None, choice: str) -> Experiment:
    """Return the experiment with its framework at a version, if one is given, in an interpreter.

    Parameters
    ----------
    experiment : Experiment
        Of one framework.
    version : str or None
        As the record has it; a local part like ``+cpu`` is left to the index.
    choice : str
        As for ``--env`` of a run.
    """
    request = Request.of(experiment.frameworks[0])
    name = request.name.partition("==")[0]
    pinned = f"{name}=={version.partition('+')[0]}" if version else name
    return replace(experiment, frameworks=(replace(request, name=pinned),), environments=(choice,))


def interpreter_of(record: Mapping[str, Any], experiment: Experiment) -> str:
    """Return the interpreter that repeats a record's, as for ``--env`` of a run: its environment, made anew.

    Parameters
    ----------
    record : mapping
        A valid record.
    experiment : Experiment
        What it was asked for with.
    """
    named = {"managed": "managed", "recorded": "managed", "path": experiment.environments[0]}
    return named.get(record["environment"]["kind"], "auto")


def possible_here(
    experiment: Experiment, usable: Sequence[int], granted: Callable[[Sequence[int]], int]
) -> Experiment:
    """Return the experiment with as many of its CPUs and threads as there are here.

    Parameters
    ----------
    experiment : Experiment
        Of one cell.
    usable : sequence of int
        CPUs that may be used here.
    granted : callable
        How many threads may run at a time on CPUs, on all if there are none named.
    """
    affinity = tuple(cpus for cpus in experiment.affinity if set(cpus) <= set(usable))
    most = granted(affinity[0] if affinity else ())
    return replace(
        experiment, affinity=affinity, threads=tuple(min(threads, most) for threads in experiment.threads)
    )
