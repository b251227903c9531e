"""What to run: one run as a value, and an experiment as a matrix of them."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Union

from benchmarker.framework import Optimizer
from benchmarker.problem_files import recorded_name


@dataclass(frozen=True)
class RunSpec:
    """One run, complete: everything that decides what is computed and how it is measured.

    Parameters
    ----------
    framework, problem, launcher : str
        Names of plugins; of a problem that is a file with the file's absolute path.
    framework_version : str or None
        The version asked for with ``--framework=name==version``.
    problem_parameters, framework_options : mapping
        Complete, defaults included.
    problem_digest : str or None
        ``sha256:`` and the digest of the content of a problem that is a file, by which it is known again elsewhere.
    device : str
        ``"cpu"`` or ``"cuda"``.
    gpus : tuple of int
        Indices of the GPUs the worker may see; empty on a CPU.
    threads : int
        Threads for computing inside operators.
    affinity : tuple of int
        CPUs the worker is bound to; empty for no binding.
    steps, warmup : int or None
        Number of timed and untimed steps; ``None`` lets the worker choose by the time a step takes.
    window : float or None
        Seconds that inference is repeated for, instead of a number of steps.
    samples_per_epoch : int or None
        The earlier tool's ``--problem_size``.
    data, data_dir : str or None
        Name of a data set and the folder of its files; ``None`` draws mini-batches from the seed.
    inputs : str
        ``resident``: the mini-batch is on the device before a step; ``fed``: it is brought there in it.
    sampling : {"latency", "throughput"}
        Whether each step is synchronised and timed, or each block of steps.
    target_seconds : float
        About how long the timed part lasts where neither steps nor a window say it.
    minimum_samples : int
        The least number of samples then.
    breakdown : bool
        Whether the parts of a step, and its operators, are timed too, in passes of their own.
    micro_batch : int or None
        Samples of each of the micro-batches that a mini-batch is trained in; None for all of it at once.
    fold_batch_norm : bool
        Whether batch normalizations of inference become part of the convolutions before them.
    monitors : tuple of str or None
        Collectors to use; ``None`` for all there are.
    repetition : int
        Which of the fresh processes of this cell, from 0.
    timeout : float or None
        Seconds after which the run is ended.
    environment : str
        ``auto``, ``current``, ``managed`` or the path of an interpreter.
    start : {"spawn", "fork"}
        Whether the worker is a new interpreter, or a fork of one that has imported the framework.
    compile_cache : {"kept", "cold"}
        Whether the process finds what others before it compiled, or starts with empty folders for that.
    anonymous : bool
        Whether host and user names stay out of the record.
    price_per_hour : float or None
        What the machine costs, in any currency.
    """

    framework: str
    problem: str
    framework_version: str | None = None
    problem_parameters: Mapping[str, Any] = field(default_factory=dict)
    framework_options: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "training"
    batch_size: int = 1
    precision: str = "fp32"
    optimizer: Optimizer = Optimizer()
    device: str = "cpu"
    gpus: tuple[int, ...] = ()
    threads: int = 1
    affinity: tuple[int, ...] = ()
    seed: int = 42
    steps: int | None = None
    warmup: int | None = None
    window: float | None = None
    samples_per_epoch: int | None = None
    data: str | None = None
    data_dir: str | None = None
    inputs: str = "resident"
    sampling: str = "latency"
    target_seconds: float = 3.0
    minimum_samples: int = 20
    breakdown: bool = False
    micro_batch: int | None = None
    fold_batch_norm: bool = False
    monitors: tuple[str, ...] | None = None
    repetition: int = 0
    verify: bool = True
    timeout: float | None = None
    environment: str = "auto"
    launcher: str = "local"
    start: str = "spawn"
    compile_cache: str = "kept"
    anonymous: bool = False
    price_per_hour: float | None = None
    problem_digest: str | None = None

    @property
    def label(self) -> str:
        """The run in a few words."""
        version = f"=={self.framework_version}" if self.framework_version else ""
        what = f"{self.framework}{version} {recorded_name(self.problem)}"
        return f"{what} {self.mode}, batch {self.batch_size}, {self.precision}"


LEVELS = ("operator", "network", "training")
"""Deep500's levels (Ben-Nun et al. 2019, arXiv 1901.10183, section III): single operators, a network without
its optimizer, and training."""
MODES_OF_LEVEL: Mapping[str | None, tuple[str, ...]] = {
    None: ("training",),
    "operator": ("inference", "gradient"),
    "network": ("inference", "gradient"),
    "training": ("training",),
}
"""The modes of an experiment that names none, by its level."""

_OF_NO_INFLUENCE = ("timeout", "anonymous", "price_per_hour")


def specification(run: RunSpec) -> dict[str, Any]:
    """Return what was asked, complete, as JSON values.

    Two runs with the same specification measure the same. The time limit and whether names are left out
    are not part of it, nor are the price and the folder of a problem that is a file: they change nothing in a run
    that ended well. Inference has no optimizer.
    """
    values = dict(zip(_OF_INFLUENCE, _values_of_influence(run)))
    values["problem"] = recorded_name(run.problem)
    values["optimizer"] = vars(run.optimizer) if run.mode == "training" else None
    return {name: _plain(value) for name, value in values.items()}


_OF_INFLUENCE = tuple(member.name for member in fields(RunSpec) if member.name not in _OF_NO_INFLUENCE)
_values_of_influence = operator.attrgetter(*_OF_INFLUENCE)
_SCALARS = {str, int, float, bool, type(None)}
_as_text = json.JSONEncoder(sort_keys=True).encode


def identity(run: RunSpec) -> str:
    """Return a text that two runs have in common if, and only if, they have the same specification."""
    return _as_text(specification(run))


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Request:
    """A problem, framework or optimizer as asked for, with what is set of it.

    Parameters
    ----------
    name : str
        Of the problem, of the framework (``name`` or ``name==version``), or the optimizer's kind; an
        empty kind is the problem's own.
    settings : mapping
        Name of a parameter, option or constant to the values to try.
    """

    name: str
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @staticmethod
    def of(asked: str | Request) -> Request:
        """Return a name as a request."""
        return Request(asked) if isinstance(asked, str) else asked


Asked = Union[str, Request]


@dataclass(frozen=True)
class Experiment:
    """What was asked for: each tuple is an axis of the matrix, an empty one takes the default.

    Parameters
    ----------
    frameworks, problems, optimizers : tuple of str or Request
        Names, or names with settings of their own.
    settings : mapping
        ``--set``: name (or ``owner.name``) to the values to try, over those of the requests.
    hyperparameters : mapping
        Constants of every optimizer that has them, over those of the requests.
    accept : mapping
        ``min_`` or ``max_`` of a metric to its limit; see :mod:`benchmarker.acceptance`.
    early_stop : bool
        Whether to leave out larger batch sizes once one has run out of memory.
    gpus, affinity : tuple of tuple of int
        Sets, of which each run takes one.
    repeats : int or None
        Fresh processes for each run; None is one, or as many as the precision takes.
    profile : str or None
        How well a number should be known; see :data:`benchmarker.replication.PROFILES`.
    half_width, min_processes, max_processes, budget
        Over those of the profile: relative half-width of the interval, processes, seconds for a cell.
    seconds, min_samples
        Over those of the profile: how long the timed part of a process lasts, and its least samples.
    level : str or None
        One of :data:`LEVELS`, to which all problems must belong. It decides the modes and, for networks, the
        breakdown, where those are not given.
    sampling : tuple of str
        Empty: throughput in training, latency in inference.
    Other fields
        As in :class:`RunSpec`.
    """

    frameworks: tuple[Asked, ...]
    problems: tuple[Asked, ...]
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    precisions: tuple[str, ...] = ("fp32",)
    optimizers: tuple[Asked, ...] = ()
    hyperparameters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu",)
    gpus: tuple[tuple[int, ...], ...] = ()
    threads: tuple[int, ...] = ()
    affinity: tuple[tuple[int, ...], ...] = ()
    seeds: tuple[int, ...] = (42,)
    steps: tuple[int, ...] = ()
    warmup: tuple[int, ...] = ()
    windows: tuple[float, ...] = ()
    samples_per_epoch: tuple[int, ...] = ()
    epochs: tuple[int, ...] = ()
    data: tuple[str, ...] = ()
    data_dir: str | None = None
    inputs: tuple[str, ...] = ("resident",)
    sampling: tuple[str, ...] = ()
    seconds: float | None = None
    min_samples: int | None = None
    breakdown: bool | None = None
    micro_batches: tuple[int, ...] = ()
    fold_batch_norm: bool = False
    level: str | None = None
    monitors: tuple[str, ...] | None = None
    repeats: int | None = None
    profile: str | None = None
    half_width: float | None = None
    min_processes: int | None = None
    max_processes: int | None = None
    budget: float | None = None
    price_per_hour: float | None = None
    verify: bool = True
    timeout: float | None = None
    environments: tuple[str, ...] = ("auto",)
    launchers: tuple[str, ...] = ("local",)
    starts: tuple[str, ...] = ("spawn",)
    compile_caches: tuple[str, ...] = ("kept",)
    anonymous: bool = False
    accept: Mapping[str, float] = field(default_factory=dict)
    early_stop: bool = False

    def __post_init__(self) -> None:
        if not self.modes:
            object.__setattr__(self, "modes", MODES_OF_LEVEL.get(self.level, MODES_OF_LEVEL[None]))
        if self.breakdown is None:
            object.__setattr__(self, "breakdown", self.level == "network")
