"""What is known of a training before its first step, in the worker and where runs are planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.training.recipe import Training
from benchmarker.worker.training.data import TrainingData
from benchmarker.worker.training.evaluation import check_can_be_evaluated
from benchmarker.worker.training.loop import Plan
from benchmarker.worker.training.rates import Rates

MIN_STEPS = 2
MAX_STEPS = 10_000_000
"""Schedules are tables of all of them; the recipe of ImageNet takes 450,000."""


def plan_of(
    training: Training, folder: Path, graph: Graph, seed: int, optimizer: Optimizer
) -> tuple[TrainingData, Plan, Rates]:
    """Return data, lengths and constants of a training.

    Parameters
    ----------
    training : Training
        The recipe's table.
    folder : Path
        Of the prepared data set.
    graph : Graph
        With its loss.
    seed : int
        Of the run.
    optimizer : Optimizer
        With its constants before any schedule.

    Raises
    ------
    UsageError
        If split, target, schedules, data set and problem do not fit together.
    """
    check_can_be_evaluated(graph, training.target)
    data = TrainingData.open(folder, graph, training, seed)
    plan = Plan.of(training, graph.batch_size, data.train.distinct)
    if plan.most < MIN_STEPS:
        raise UsageError(f"a training takes at least {MIN_STEPS} steps, got {plan.most}; raise its limits")
    if plan.most > MAX_STEPS:
        raise UsageError(f"a training takes at most {MAX_STEPS:,} steps, got {plan.most:,}; lower its limits")
    rates = Rates.of(training, optimizer, plan.most, plan.steps_per_epoch)
    most = max(MIN_STEPS, min(plan.most, training.max_steps or plan.most))
    return data, replace(plan, most=most), rates
