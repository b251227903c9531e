"""The data sets of runs, prepared, and whether problems and recipes fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.experiment.fault import ExperimentError, Fault
from benchmarker.experiment.spec import RunSpec
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training

if TYPE_CHECKING:
    from benchmarker.data.prepared import PreparedData
    from benchmarker.graph.graph import Graph


def prepared_data(run: RunSpec) -> PreparedData | None:
    """Return the data set of the run, read and kept for its worker; None for drawn mini-batches.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    return None if run.data is None else prepared_dataset(run.data, run.data_dir)


def prepared_dataset(name: str, folder: str | None) -> PreparedData:
    from benchmarker.data.prepared import prepare

    place = Path(folder) if folder else None
    return prepare(name, registry.dataset_reader(name), place, dataset_fingerprint(name))


@cache
def dataset_fingerprint(name: str) -> Callable[[Path | None], str] | None:
    """Return what tells whether a data set is still the one that was read; None if it is quickly read.

    Raises
    ------
    PluginError
        If the plugin is broken; when it is called, too.
    """
    entry, described = registry.find("datasets", name), registry.dataset(name)
    if not described.fingerprint:
        return None
    return registry.guarded(entry, registry.implementation(entry, described.fingerprint), str)


def check_data(runs: Iterable[RunSpec]) -> None:
    # Runs of one choice of parameters share them as one object.
    distinct = {
        (run.data, run.data_dir, run.problem, id(run.problem_parameters), run.batch_size): run
        for run in runs
        if run.data is not None
    }
    if not distinct:
        return
    from benchmarker.data.prepared import check_fits

    for run in distinct.values():
        try:
            data = prepared_data(run)
            if data is not None:
                graph = registry.problem(run.problem).graph(run.batch_size, **run.problem_parameters)
                check_fits(_as_trained_on(data.description, run.training), graph)
        except UsageError as error:
            raise ExperimentError(Fault(("data",), str(error))) from None


def _as_trained_on(description: dict[str, Any], table: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is known of a data set with its samples in the shape that a recipe's augmentation gives them."""
    steps = (table or {}).get("augmentation")
    if not steps:
        return description
    from benchmarker.data.augmentation import Augmentation

    shape = tuple(description["sample_shape"])
    for step in Augmentation.parse(steps).steps:
        shape = step.shape(shape)
    return {**description, "sample_shape": shape}


def check_trainings(runs: Iterable[RunSpec]) -> None:
    """Refuse recipes whose split, schedules or target do not fit data set and problem."""
    # Runs of one seed and one choice of parameters train alike.
    distinct = {
        (run.problem, id(run.problem_parameters), run.batch_size, run.optimizer, run.data_dir): run
        for run in runs
        if run.training is not None
    }
    for run in distinct.values():
        try:
            data = prepared_data(run)
            if data is None:
                raise UsageError("a recipe trains on a data set; name one with 'data'")
            graph = registry.problem(run.problem).graph(run.batch_size, **run.problem_parameters)
            _check_training(made(Training, run.training or {}, "training"), data.folder, graph, run)
        except UsageError as error:
            raise ExperimentError(Fault(("training",), str(error))) from None


def _check_training(training: Training, folder: Path, graph: Graph, run: RunSpec) -> None:
    """Refuse a training that its data set and problem cannot have.

    Raises
    ------
    UsageError
        With what does not fit.
    """
    from benchmarker.worker.training.begin import plan_of
    from benchmarker.worker.training.divergence import check_divergence

    _, plan, _ = plan_of(training, folder, graph, run.seed, run.optimizer)
    check_divergence(run.divergence, graph, plan.most)
