"""The command ``run`` as a function of Python, which users reach as ``benchmarker.run``."""

from __future__ import annotations

import inspect
import os
import textwrap
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from benchmarker.analysis.results.collection import Results
from benchmarker.analysis.results.scanning import read_files
from benchmarker.api.given_values import path_of, possible_paths
from benchmarker.execution.environments import permission
from benchmarker.experiment.keywords import KEYWORDS, experiment_values
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.progress_lines import ProgressLines
from benchmarker.experiment.recipes import requested_blueprint
from benchmarker.orchestration.experiment_run import ExperimentRun
from benchmarker.records import places
from benchmarker.records.remote.opening import open_place

OnLine = Callable[[str], object]
"""Takes a line of progress, e.g. ``print``."""


class RunResults(Results):
    """The records of an experiment, in the order in which its runs were asked for.

    Attributes
    ----------
    plan : list of dict
        Each run of the matrix: its specification, why it is refused, and the record it had before.
    skipped : list of str
        Why each run that was left out was.
    not_accepted : list of str
        A sentence for each limit of ``accept`` that a run is beyond.
    """

    def __init__(self, experiment_run: ExperimentRun) -> None:
        found = read_files([run.path for run in experiment_run.finished])
        super().__init__(found.paths, found.table, found.damaged, follow=True)
        self.plan = experiment_run.plan()
        self.skipped = list(experiment_run.skipped)
        self.not_accepted = experiment_run.not_accepted

    @cached_property
    def ok(self) -> Results:
        """The records of runs that ended well."""
        return self._with_status(well=True)

    @cached_property
    def failed(self) -> Results:
        """The records of the others: failed, crashed, out of memory, timed out."""
        return self._with_status(well=False)

    def _with_status(self, *, well: bool) -> Results:
        statuses = self.values("status")
        return self._take([row for row, status in enumerate(statuses) if (status == "ok") == well])

    def __repr__(self) -> str:
        if not self and self.plan:
            return f"<{len(self.plan)} runs planned, none made>"
        return f"<{len(self)} records, {len(self.failed)} not ok>"

    def _notes(self) -> list[str]:
        faults = [f"{record['id'][-8:]}: {record['error']['message']}" for record in self.failed]
        return [*super()._notes(), *faults, *self.skipped, *self.not_accepted]


def run(
    blueprint: str | os.PathLike[str] | None = None,
    *,
    recipe: str | os.PathLike[str] | None = None,
    results: str | os.PathLike[str] | None = None,
    resume: bool = False,
    dry_run: bool = False,
    allow_cuda_build: bool = False,
    progress: OnLine | None = None,
    **options: Any,
) -> RunResults:
    """Run benchmarks as the command ``run`` does: each in a fresh process, verified, to a record of its own.

    Parameters
    ----------
    blueprint : path or None
        A ``.toml`` or ``.py`` file, whose fields options override.
    recipe : str or path or None
        In its place, what to train: the name of a recipe or a file, as the command ``train`` takes it.
    results : path or None
        The folder for records, or an address (``"s3://..."``); None takes the blueprint's, or ``results``.
    resume : bool
        Whether to leave out what has a good record there, and have trainings go on from their checkpoints.
    dry_run : bool
        Whether to run nothing: the result has the plan and no records.
    allow_cuda_build : bool
        Whether runs on the CPU may install PyTorch's CUDA build, of several GiB; from now on in later calls, too.
    progress : callable or None
        Takes lines of text that say how far it is, e.g. ``print``; None for silence.
    **options
        Those of the command by their names, hyphens as underscores: ``framework="pytorch"``,
        ``batch_size=[1, 8]``. A list makes an axis of the matrix. ``set`` and ``accept`` are mappings; problems,
        frameworks and optimizers may be mappings as in blueprints. Each is listed below.

    Returns
    -------
    RunResults
        The records, those of runs that failed too, which raise nothing.

    Raises
    ------
    UsageError
        If what was asked makes no sense; nothing was run then.
    KeyboardInterrupt
        After the worker was ended and the record of its run was written.

    Examples
    --------
    >>> found = benchmarker.run(framework=["numpy", "pytorch"], problem="mnist_mlp", batch_size=64)
    >>> found.to_frame()[["framework.name", "timing.step_seconds.median"]]
    """
    experiment_run, reporter = _planned(blueprint, recipe, results, options), progress_reporter(progress)
    _run_remaining(experiment_run, reporter, resumes=resume)
    if not dry_run:
        _execute(experiment_run, reporter, allow_cuda_build=allow_cuda_build)
    for trouble in (*experiment_run.troubles, *places.close(experiment_run.folder)[0]):
        warnings.warn(trouble, stacklevel=2)
    if experiment_run.interrupted:
        raise KeyboardInterrupt(f"{len(experiment_run.finished)} records are in '{experiment_run.folder}'")
    return RunResults(experiment_run)


def _planned(blueprint: object, recipe: object, results: object, options: Mapping[str, Any]) -> ExperimentRun:
    with possible_paths():
        named = path_of("recipe", recipe)
        described = requested_blueprint(
            path_of("blueprint", blueprint), None if named is None else str(named)
        )
        folder = path_of("results", results)
        place = open_place(results) if isinstance(results, str) else folder
        return ExperimentRun.planned(experiment_values(options), described, place)


def _execute(experiment_run: ExperimentRun, reporter: Progress, *, allow_cuda_build: bool) -> None:
    if allow_cuda_build:
        permission.allow_cuda_build()
    for _ in experiment_run.execute(reporter):
        pass


def _run_remaining(experiment_run: ExperimentRun, reporter: Progress, *, resumes: bool) -> None:
    if resumes:
        experiment_run.resume()
    for note in experiment_run.checkpoint(resumes=resumes):
        reporter.note(note)


def progress_reporter(progress: OnLine | None) -> Progress:
    return Progress() if progress is None else ProgressLines(progress)


def _document_options() -> None:
    """Give ``run`` the signature and the help of its options, which are declared in one table."""
    own = inspect.signature(run)
    kind = inspect.Parameter.KEYWORD_ONLY
    first, *others = [one for one in own.parameters.values() if one.kind != one.VAR_KEYWORD]
    options = [inspect.Parameter(name, kind, default=None, annotation=Any) for name in KEYWORDS]
    run.__signature__ = own.replace(parameters=[first, *options, *others])  # type: ignore[attr-defined]
    listed = "\n".join(
        textwrap.fill(f"{name}: {what}", 100, initial_indent="    ", subsequent_indent="        ")
        for name, what in KEYWORDS.items()
    )
    run.__doc__ = f"{inspect.cleandoc(run.__doc__ or '')}\n\nOptions\n-------\n{listed}\n"


_document_options()
