"""How many cells an experiment has, as far as that can be told where none of them runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.experiment.blueprint.loading import Blueprint
from benchmarker.experiment.faults import faults
from benchmarker.experiment.parts import cells_of
from benchmarker.experiment.planning import matrix
from benchmarker.orchestration.experiment_run import experiment_from_options


def count_cells(values: Mapping[str, Any], blueprint: Blueprint) -> int:
    """Return the number of cells of a blueprint with what is given over it.

    What only another machine may have, a GPU or an interpreter, is not looked for.

    Raises
    ------
    UsageError
        If something is wrong wherever it runs.
    """
    experiment = experiment_from_options(values, blueprint)
    for fault in faults(experiment):
        raise UsageError(str(blueprint.fault(fault) or fault.message))
    return len(cells_of(matrix(experiment)))
