"""Where trainings keep their checkpoints, and which of them a training goes on from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarker import registry
from benchmarker.errors import UsageError
from benchmarker.experiment.data_checks import prepared_data
from benchmarker.experiment.keys import identity
from benchmarker.experiment.recipes import recipe_digest
from benchmarker.experiment.spec import RunSpec
from benchmarker.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointSettings,
    checkpoint_files,
    read,
)
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training
from benchmarker.worker.job import RunJob, TrainJob

FOLDER = "checkpoints"
"""Of a folder of results: what was not finished belongs to where its record would have gone."""


@dataclass
class Checkpointing:
    """What the trainings of an experiment do with checkpoints.

    Parameters
    ----------
    folder : Path
        Where each training has a folder of its own.
    every : int or None
        Evaluations between two; None to write none.
    start : Path or None
        The one that all trainings go on from.

    Attributes
    ----------
    notes : list of str
        What there is to say of those that were looked for.
    """

    folder: Path
    every: int | None = None
    start: Path | None = None
    notes: list[str] = field(default_factory=list)
    _starts: dict[str, Path] = field(default_factory=dict)

    def of(self, run: RunSpec) -> Path:
        """Return the folder of a training: of all processes that do the same."""
        table = run.training or {}
        words = (str(table["name"]), run.framework, f"seed{run.seed}")
        name = "_".join(re.sub(r"[^A-Za-z0-9.+-]+", "-", word)[:40] for word in words)
        return self.folder / f"{name}_{hashlib.sha256(identity(run).encode()).hexdigest()[:12]}"

    def require_start(self, runs: Iterable[RunSpec]) -> None:
        """Have all trainings go on from the one checkpoint.

        Raises
        ------
        UsageError
            If it cannot be read, or is of another training than one of them.
        """
        if self.start is None:
            return
        checkpoint = read(self.start)
        for run in runs:
            _check(checkpoint, run)
            self._starts[identity(run)] = self.start

    def find_starts(self, runs: Sequence[RunSpec]) -> None:
        """Have each training go on from its furthest checkpoint that is whole; one without any begins anew.

        Raises
        ------
        UsageError
            If there are checkpoints of a training and none can be gone on from.
        """
        without = 0
        for run in runs:
            files = checkpoint_files(self.of(run))
            found = self._furthest(files)
            if found is None:
                without += 1
                continue
            _check(found, run)
            self._starts[identity(run)] = found.path
            self.notes.append(f"{run.label}: continues from step {found.about.place.step} ('{found.path}')")
        if without:
            self.notes.append(
                f"{without} of {len(runs)} trainings have no checkpoint in {self.folder} and start from the beginning"
            )

    def _furthest(self, files: Sequence[Path]) -> Checkpoint | None:
        faults: list[CheckpointError] = []
        for path in files:
            try:
                found = read(path)
            except CheckpointError as error:
                faults.append(error)
                continue
            self.notes += [f"{fault}; an earlier one is used" for fault in faults]
            return found
        if faults:
            raise CheckpointError(
                f"{faults[0]}, and there is no earlier one: leave out --resume to start from the beginning"
            )
        return None

    def job(self, job: RunJob, run: RunSpec) -> RunJob:
        """Return the job of a run with what it does with checkpoints."""
        start = self._starts.get(identity(run))
        if not isinstance(job, TrainJob) or (self.every is None and start is None):
            return job
        settings = replace(
            settings_of(run),
            folder=None if self.every is None else str(self.of(run).absolute()),
            every=self.every or 1,
            start=None if start is None else str(start.absolute()),
        )
        return replace(job, checkpoints=asdict(settings))


def settings_of(run: RunSpec) -> CheckpointSettings:
    """Return which training a run is."""
    data, table = prepared_data(run), run.training or {}
    return CheckpointSettings(
        str(table["name"]), recipe_digest(run), str(data.description["digest"]) if data else ""
    )


def _check(checkpoint: Checkpoint, run: RunSpec) -> None:
    # Rooms of the worker are imported only where a training is resumed.
    from benchmarker.worker.training.begin import plan_of
    from benchmarker.worker.training.checkpoints import check_fits, subject_of

    data = prepared_data(run)
    if data is None or run.training is None:
        raise UsageError("only trainings by a recipe can continue from a checkpoint")
    graph = registry.problem(run.problem).graph(run.batch_size, **run.problem_parameters)
    training = made(Training, run.training, "the recipe")
    trained, _, rates = plan_of(training, data.folder, graph, run.seed, run.optimizer)
    check_fits(checkpoint, subject_of(settings_of(run), run.seed, trained, rates), graph)
