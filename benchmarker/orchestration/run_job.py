"""From a run that is planned to the job of its worker."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.api.framework import Device
from benchmarker.api.world import World
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.rank_suitability import looks_at_all_rows
from benchmarker.experiment.spec import RunSpec
from benchmarker.orchestration.run_record import trace_path
from benchmarker.worker.job import CollectiveJob, RankJob, RankTrainJob, RunJob, TrainJob

if TYPE_CHECKING:
    from benchmarker.data.prepared import PreparedData

_RESOLVED = ("device", "data", "inputs")
_OPTIONS_OF_JOB = tuple(
    field.name for field in fields(RunJob) if field.name in RUN_OPTIONS and field.name not in _RESOLVED
)
"""Run options that a worker takes as they are: those that a job has a field for."""


def run_job(spec: RunSpec, data: PreparedData | None, log: Path) -> RunJob:
    """Return the job of a run: timed steps, or a training by a recipe, whose mini-batches are made step by step.

    Parameters
    ----------
    spec : RunSpec
        What was asked for.
    data : PreparedData or None
        Its data set; None for drawn mini-batches.
    log : Path
        The run's log, beside which a trace goes.
    """
    group = _group(spec) if spec.ranks > 1 else {}
    timed: type[RunJob]
    timed, trained = (RankJob, RankTrainJob) if group else (RunJob, TrainJob)
    if registry.problem(spec.problem).collective is not None:
        timed, group = CollectiveJob, {**group, "verify": spec.verify}
    kind, inputs = (timed, spec.inputs) if spec.training is None else (trained, "fed")
    return kind(
        framework=registry.find("frameworks", spec.framework).value,
        problem=registry.problem_entry(spec.problem).value,
        problem_parameters=spec.problem_parameters,
        framework_options=spec.framework_options,
        optimizer=spec.optimizer,
        optimizer_rule=registry.rule_value(spec.optimizer.kind),
        device=Device(spec.device),
        data=str(data.folder) if data else None,
        inputs=inputs,
        trace=str(trace_path(log)) if spec.breakdown else None,
        training=spec.training,
        orchestrator=os.getpid(),
        **group,
        **{name: getattr(spec, name) for name in _OPTIONS_OF_JOB},
    )


def _group(spec: RunSpec) -> dict[str, Any]:
    """Return what the job of a rank has besides; its place comes with its world."""
    if spec.scheme is None:
        return {"world": World(0, spec.ranks, ()), "exchange": spec.exchange}
    scheme = registry.scheme(str(spec.scheme))
    return {
        "world": World(0, spec.ranks, ()),
        "scheme": registry.scheme_value(str(spec.scheme)),
        "scheme_constants": dict(vars(scheme)),
        "exchange": spec.exchange,
        "global_statistics": looks_at_all_rows(spec),
    }
