"""From what was asked for to records: planned, gone on with where it stopped, run, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UsageError
from benchmarker.experiment.acceptance import sentences
from benchmarker.experiment.campaign import Campaign
from benchmarker.experiment.fault import ExperimentError, Fault
from benchmarker.experiment.keys import identity
from benchmarker.experiment.parts import Part
from benchmarker.experiment.planning import matrix, plan
from benchmarker.experiment.progress import Progress
from benchmarker.experiment.recipes import check_division
from benchmarker.experiment.replication import requested_replication
from benchmarker.experiment.spec import Experiment, RunSpec, specification
from benchmarker.experiment.suitability import unsupported_reasons
from benchmarker.experiment.training_settings import settled
from benchmarker.records.assembly.acceptance import judge
from benchmarker.records.assembly.facts import FinishedRun
from benchmarker.records.remote.opening import open_place, store_at
from benchmarker.records.store import DEFAULT_FOLDER, require_writable

if TYPE_CHECKING:
    from benchmarker.experiment.blueprint.loading import Blueprint, BlueprintFault
    from benchmarker.orchestration.checkpoints import Checkpointing


def experiment_from_options(values: Mapping[str, Any], blueprint: Blueprint | None = None) -> Experiment:
    """Return the experiment of keyword arguments, over those of a blueprint.

    Parameters
    ----------
    values : mapping
        Keyword arguments of an experiment; only what was given.
    blueprint : Blueprint or None
        What they go over.

    Raises
    ------
    UsageError
        If there is no problem or no framework.
    """
    if blueprint is not None:
        from benchmarker.experiment.blueprint.overrides import overridden

        values = overridden(blueprint.values, values)
    missing = [
        option
        for option, name in (("--framework", "frameworks"), ("--problem or --suite", "problems"))
        if name not in values
    ]
    if missing:
        where = "a blueprint" if blueprint is None else str(blueprint.document.path)
        raise UsageError(
            f"{' and '.join(missing)} required, on the command line or in {where} (see benchmarker run --help)"
        )
    return Experiment(**settled(values))


def _placed(fault: Fault, values: Mapping[str, Any], blueprint: Blueprint | None) -> BlueprintFault | None:
    """Return a fault with its line in the blueprint; None if it is in what was given over it."""
    if blueprint is None:
        return None
    from benchmarker.experiment.blueprint.overrides import is_given

    return None if is_given(fault, values) else blueprint.fault(fault)


@dataclass
class ExperimentRun:
    """An experiment that is planned, and what came of its runs.

    Parameters
    ----------
    experiment : Experiment
        What was asked for.
    runs : sequence of RunSpec
        The matrix, in its order.
    folder : Path
        Where records are written.

    Attributes
    ----------
    before : mapping of str to FinishedRun
        By identity, runs that have a record already.
    damaged : mapping
        Files of the folder that could not be read when it was looked through for records, and why.
    skipped : list of str
        Why each run that was left out was.
    troubles : list of str
        What became of each record that could not be written to the folder.
    checkpointing : Checkpointing or None
        What trainings do with checkpoints.
    """

    experiment: Experiment
    runs: Sequence[RunSpec]
    folder: Path
    before: Mapping[str, FinishedRun] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    checkpointing: Checkpointing | None = None
    _finished: list[FinishedRun] = field(default_factory=list)

    @classmethod
    def planned(
        cls,
        values: Mapping[str, Any],
        blueprint: Blueprint | None = None,
        folder: str | Path | None = None,
        part: Part | None = None,
    ) -> ExperimentRun:
        """Plan what :func:`experiment_from_options` returns, or a part of it; faults of the blueprint name its line.

        Raises
        ------
        UsageError
            If it makes no sense.
        """
        experiment = experiment_from_options(values, blueprint)
        try:
            runs = plan(experiment)
            if blueprint is not None and experiment.training is not None:
                own = {**blueprint.values, "frameworks": experiment.frameworks}
                check_division(matrix(Experiment(**own)), runs)
        except ExperimentError as error:
            placed = _placed(error.fault, values, blueprint)
            if placed is None:
                raise
            raise UsageError(str(placed)) from None
        if part is not None:
            runs = part.of(runs)
        named = folder or (blueprint and blueprint.results) or DEFAULT_FOLDER
        return cls(experiment, runs, open_place(named))

    @cached_property
    def campaign(self) -> Campaign:
        """Which run comes next."""
        return Campaign(
            self.runs, self.experiment.wanted_precision, keep_first_order=self.experiment.early_stop
        )

    def resume(self) -> None:
        """Leave out the runs that have a record with status ``ok`` in the folder; note files that are damaged."""
        from benchmarker.orchestration.resume import finished_before

        every = self.campaign.every()
        found = finished_before(every, self.folder, self.damaged.__setitem__)
        self.before = {identity(every[index]): run for index, run in found.items()}
        self.campaign.resume({run: known.record["id"] for run, known in self.before.items()})

    def checkpoint(self, *, resumes: bool) -> list[str]:
        """Have trainings write checkpoints, and go on from those that there are; return what there is to say of it.

        Parameters
        ----------
        resumes : bool
            Whether each training that has no good record goes on from its own.

        Raises
        ------
        UsageError
            If one that a training is to go on from cannot be, or the options of checkpoints make no sense together.
        """
        experiment = self.experiment
        if experiment.training is None:
            return []
        every = experiment.checkpoint_every
        start = Path(experiment.resume_from) if experiment.resume_from else None
        if start and resumes:
            raise UsageError(
                "give either resume, for each training's own checkpoint, or resume_from, which names one"
            )
        if experiment.checkpoints and not (every or resumes):
            raise UsageError(
                f"the folder of checkpoints '{experiment.checkpoints}' is not used: give checkpoint_every, to write "
                "some, or resume, to continue from those that exist"
            )
        open_runs = [run for run in self.campaign.every() if identity(run) not in self.before]
        several = next((run for run in open_runs if run.ranks > 1), None)
        if several is not None and (every or start):
            raise UsageError(f"checkpoints are for trainings of one rank, got ranks={several.ranks}")
        from benchmarker.orchestration.checkpoints import FOLDER, Checkpointing

        folder = Path(experiment.checkpoints) if experiment.checkpoints else self.folder / FOLDER
        self.checkpointing = Checkpointing(folder, every, start)
        if start:
            self.checkpointing.require_start(open_runs)
        elif resumes:
            self.checkpointing.find_starts([run for run in open_runs if run.ranks == 1])
        return self.checkpointing.notes

    def plan(self) -> list[dict[str, Any]]:
        """Return each run as JSON has it: its specification, why it is refused, and its record if there is one."""
        replication = requested_replication(self.experiment.wanted_precision, self.experiment.repeats or 1)
        return [
            {
                **specification(run),
                "replication": replication,
                "refusal": reason,
                "record": str(known.path) if known else None,
            }
            for run, reason, known in zip(self.runs, unsupported_reasons(self.runs), self.known)
        ]

    @property
    def known(self) -> list[FinishedRun | None]:
        """The record that each run of the plan has already, if it has one."""
        return [self.before.get(identity(run)) if self.before else None for run in self.runs]

    def execute(
        self, progress: Progress, prepare: Callable[[], None] = lambda: None
    ) -> Iterator[FinishedRun]:
        """Run what has no record yet, one after the other; stop after one that the user interrupted.

        Parameters
        ----------
        progress : Progress
            Who is told.
        prepare : callable
            Called when it is known that records can be written.

        Yields
        ------
        FinishedRun
            Of each run that was made.

        Raises
        ------
        UsageError
            If the folder, or that of checkpoints, cannot be written.
        """
        from benchmarker.orchestration.orchestrator import Orchestrator

        experiment = self.experiment
        if experiment.checkpoints and experiment.checkpoint_every:
            require_writable(Path(experiment.checkpoints), "checkpoints", "--checkpoints")
        store = store_at(self.folder)
        store.check_writable()
        prepare()
        orchestrator = Orchestrator(
            store,
            progress,
            accept=experiment.accept,
            early_stop=experiment.early_stop,
            checkpointing=self.checkpointing,
        )
        try:
            yield from orchestrator.run(self.campaign, lambda spec: self.before.get(identity(spec)))
        finally:
            self._finished, self.skipped = orchestrator.every, orchestrator.skipped
            self.troubles = orchestrator.troubles

    @property
    def finished(self) -> list[FinishedRun]:
        """All runs that have a record, in the order in which they were asked for, not of the rounds."""
        return sorted(self._finished, key=lambda run: run.cell)

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted one."""
        return any(run.interrupted for run in self._finished)

    @property
    def failed(self) -> list[FinishedRun]:
        """Those that did not end well."""
        return [run for run in self.finished if run.record["status"] != "ok"]

    @property
    def not_accepted(self) -> list[str]:
        """A sentence for each limit that a run is beyond."""
        return [
            f"{run.path}: not accepted: {sentence}"
            for run in self.finished
            if run.record["status"] == "ok"
            for sentence in sentences(judge(run.record, self.experiment.accept))
        ]
