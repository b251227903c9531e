"""The options of an experiment as a whole."""

from __future__ import annotations

from benchmarker.api.rules import MAX_COUNT, Choice, Flag, Real, Text, Whole
from benchmarker.experiment.precision import PROFILES
from benchmarker.experiment.run_option import option
from benchmarker.quick_dataclass import dataclass

LEVELS = ("operator", "network", "training")
"""Deep500's levels (Ben-Nun et al. 2019, arXiv 1901.10183, section III): single operators, a network without
its optimizer, and training."""
MAX_PROCESSES = 10_000

_COUNT = Whole(1, MAX_COUNT)
_PROCESSES = Whole(1, MAX_PROCESSES)
_SECONDS = Real(above=0.0)


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """The options of an experiment as a whole, which decide how many runs there are and how long they are."""

    level: str | None = option(
        Choice(LEVELS),
        "operator, network or training: sets the mode and checks that the problems suit it",
        group="what",
        of_recipes=False,
    )
    epochs: tuple[int, ...] = option(
        _COUNT,
        "passes over the problem size or the data set; default: 1",
        axis="epochs",
        of_recipes=False,
    )
    repeats: int | None = option(_PROCESSES, "fresh processes for each run; default: 1")
    profile: str | None = option(
        Choice(tuple(PROFILES)),
        "quick, standard or rigorous: as many processes as it takes to know a number this well, instead of repeats",
        of_recipes=False,
    )
    half_width: float | None = option(
        Real(above=0.0, below=1.0),
        "relative half-width of the 95 % interval to reach, e.g. 0.02",
        of_recipes=False,
    )
    min_processes: int | None = option(
        _PROCESSES, "smallest number of fresh processes per run", of_recipes=False
    )
    max_processes: int | None = option(
        _PROCESSES, "largest number of fresh processes per run", of_recipes=False
    )
    budget: float | None = option(
        _SECONDS,
        "seconds that all processes of a run may take in total",
        metavar="SECONDS",
        of_recipes=False,
    )
    early_stop: bool = option(
        Flag(),
        "leave out larger batch sizes once one has run out of memory",
        default=False,
        of_recipes=False,
    )
    checkpoint_every: int | None = option(
        _COUNT,
        "in training by a recipe, write a checkpoint after every N evaluations, from which --resume continues",
        group="checkpoints",
        only_recipes=True,
    )
    checkpoints: str | None = option(
        Text("a folder"),
        "folder for checkpoints; default: checkpoints/ in the results",
        group="checkpoints",
        metavar="DIR",
        holds_path=True,
        only_recipes=True,
    )
    resume_from: str | None = option(
        Text("a file"),
        "a checkpoint to continue from, whichever framework wrote it",
        group="checkpoints",
        metavar="FILE",
        holds_path=True,
        only_recipes=True,
    )
