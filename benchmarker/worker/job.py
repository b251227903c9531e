"""What the orchestrator asks of a worker: one class a kind of job, and how both sides read it.

Those of a measured run are here, all others in :mod:`benchmarker.worker.other_jobs`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, ClassVar, Optional

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer, add_rule
from benchmarker.api.world import World
from benchmarker.problems.files import files_of, load_object, load_plugin
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Places:
    """What of the machine's files a worker uses.

    Parameters
    ----------
    read : tuple of str
        Files and folders that it reads.
    written : tuple of str
        Folders that it writes into.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """What every kind of job says.

    Parameters
    ----------
    framework : str
        Value of the plugin's entry point.
    device : Device
        Where its programs run.
    threads : int
        CPU threads.
    seed : int
        Of weights and mini-batches.
    """

    kind: ClassVar[str]

    framework: str
    device: Device
    threads: int
    seed: int

    @property
    def entry_points(self) -> tuple[str, ...]:
        """Values of the entry points whose packages the worker imports."""
        return (self.framework,)

    @property
    def places(self) -> Optional[Places]:
        """What it uses beside its packages; None for a job that does not say, which cannot be done in a container."""
        return None


@dataclass(frozen=True)
class ProblemJob(Job):
    """A job over a problem.

    Parameters
    ----------
    problem : str
        Value of the plugin's entry point, or the file that holds the problem.
    problem_parameters : mapping
        All of the problem's parameters.
    mode : {"inference", "training", "gradient", "generation"}
        Which way its graph goes.
    batch_size : int
        Samples in a mini-batch.
    precision : str
        Of :data:`benchmarker.api.framework.PRECISIONS`.
    """

    problem: str
    problem_parameters: Mapping[str, Any]
    mode: str
    batch_size: int
    precision: str

    @property
    def entry_points(self) -> tuple[str, ...]:
        """Values of the entry points whose packages the worker imports."""
        return (self.framework, self.problem)

    @property
    def generated(self) -> tuple[int, int]:
        """Tokens of a generation: those of the prompt, and those that are generated."""
        raise NotImplementedError


@dataclass(frozen=True)
class RunJob(ProblemJob):
    """Measure a problem.

    Parameters
    ----------
    reference : str or None
        The file with the reference's results; None: do not verify.
    verification_samples : int
        How many samples of the mini-batch the reference has computed.
    window : float or None
        Seconds that the timed part lasts, instead of a number of steps.
    optimizer_rule : str or None
        Value of the entry point of the optimizer's rule; None for one that comes with benchmarker.
    data : str or None
        Folder of a prepared data set; None draws mini-batches from the seed.
    inputs : {"resident", "fed"}
        Whether mini-batches are on the device before a step, or are brought there in it.
    sampling : {"latency", "throughput"}
        Whether each step is synchronised, or each block of steps.
    target_seconds : float
        About how long the timed part lasts where neither steps nor a window are given, with
        ``minimum_samples`` at least.
    breakdown : bool
        Whether to time the parts of a step too, and to profile its operators, after the timed part.
    trace : str or None
        The file to write the profile's trace to; None for none.
    micro_batch : int or None
        Samples of each of the micro-batches that a mini-batch is trained in; None for all of it at once.
    fold_batch_norm : bool
        Whether batch normalizations of inference become part of the convolutions before them.
    garbage_collector : {"on", "off"}
        Python's, in the timed part.
    orchestrator : int
        Its process, for what it costs while steps are timed.
    window_seconds : float or None
        About how long each turn is of a worker that takes turns; None for one that runs alone.
    training : mapping or None
        The table of a recipe, complete, as JSON values; None for a run that has none.
    prefetch : {"none", "thread", "process"}
        Where a training's mini-batches are made.
    divergence : int or None
        First steps of a training by a recipe that are made again beside the reference afterwards; None for none.
    prompt_length, output_length : int
        Tokens of a generation.
    scenario : {"single-stream", "offline", "server"} or None
        How load comes; None: step after step.
    latency_bound : float or None
        Seconds that the 99th percentile of a server's latencies must keep; None in other scenarios.
    """

    kind: ClassVar[str] = "run"

    framework_options: Mapping[str, Any] = field(default_factory=dict)
    optimizer: Optimizer = Optimizer()
    optimizer_rule: str | None = None
    steps: int | None = None
    warmup: int | None = None
    window: float | None = None
    reference: str | None = None
    verification_samples: int = 0
    data: str | None = None
    inputs: str = "resident"
    sampling: str = "latency"
    target_seconds: float = 3.0
    minimum_samples: int = 20
    breakdown: bool = False
    trace: str | None = None
    micro_batch: int | None = None
    fold_batch_norm: bool = False
    garbage_collector: str = "on"
    orchestrator: int = 0
    window_seconds: float | None = None
    training: Mapping[str, Any] | None = None
    prefetch: str = "none"
    divergence: int | None = None
    prompt_length: int = 128
    output_length: int = 32
    scenario: str | None = None
    latency_bound: float | None = None

    @property
    def generated(self) -> tuple[int, int]:
        return self.prompt_length, self.output_length

    @property
    def entry_points(self) -> tuple[str, ...]:
        """Values of the entry points whose packages the worker imports."""
        own = super().entry_points
        return own if self.optimizer_rule is None else (*own, self.optimizer_rule)

    @property
    def places(self) -> Optional[Places]:
        """Its reference, its data set and the files that its plug-ins are made from; where a trace goes."""
        made = (file for value in self.entry_points for file in files_of(value))
        trace = () if self.trace is None else (os.path.dirname(self.trace),)  # noqa: PTH120 - as it is, a text
        return Places(tuple(filter(None, (self.reference, self.data, *made))), trace)


@dataclass(frozen=True)
class TrainJob(RunJob):
    """Train as a recipe says; its mini-batches are made and brought to the device step by step.

    Parameters
    ----------
    checkpoints : mapping or None
        Of :class:`~benchmarker.training.checkpoint.CheckpointSettings`, as JSON values; None for none.
    """

    kind: ClassVar[str] = "train"

    checkpoints: Mapping[str, Any] | None = None

    @property
    def places(self) -> Optional[Places]:
        """Those of a run, and its checkpoints."""
        own, checkpoints = super().places or Places(), self.checkpoints or {}
        start, folder = checkpoints.get("start"), checkpoints.get("folder")
        return Places(tuple(filter(None, (*own.read, start))), tuple(filter(None, (*own.written, folder))))


@dataclass(frozen=True)
class ReferenceJob(ProblemJob):
    """Compute the reference's results for a measured run.

    Parameters
    ----------
    path : str
        The file to write.
    samples : int
        How many samples of the mini-batch are computed.
    data, micro_batch, training, prompt_length, output_length
        As in :class:`RunJob`.
    """

    kind: ClassVar[str] = "reference"

    path: str
    samples: int
    data: str | None = None
    micro_batch: int | None = None
    training: Mapping[str, Any] | None = None
    prompt_length: int = 128
    output_length: int = 32

    @property
    def generated(self) -> tuple[int, int]:
        return self.prompt_length, self.output_length


@dataclass(frozen=True)
class RankJob(RunJob):
    """Measure a problem as one of several ranks.

    Parameters
    ----------
    world : World
        Which one.
    scheme : str
        Value of the entry point of the scheme.
    scheme_constants : mapping
        Its constants, those that are not its usual ones too.
    exchange : {"native", "mpi"}
        Whether the framework exchanges, or MPI between its gradients and the update.
    folder : str
        That all ranks see, empty at first.
    global_statistics : bool
        Whether batch normalization takes statistics of all ranks' rows.
    """

    kind: ClassVar[str] = "rank"
    places = None

    world: World = World(0, 1, ())
    scheme: str = "benchmarker.distributed.schemes.all_reduce:AllReduce"
    scheme_constants: Mapping[str, Any] = field(default_factory=dict)
    exchange: str = "mpi"
    folder: str = ""
    global_statistics: bool = False

    @property
    def entry_points(self) -> tuple[str, ...]:
        """Values of the entry points whose packages the worker imports."""
        return (*super().entry_points, self.scheme)

    @property
    def rank_rows(self) -> int:
        """Rows of the mini-batch that each rank has."""
        return self.batch_size // self.world.size


@dataclass(frozen=True)
class RankTrainJob(RankJob):
    """Train as a recipe says, as one of several ranks."""

    kind: ClassVar[str] = "rank_train"


@dataclass(frozen=True)
class CollectiveJob(RankJob):
    """Measure a collective as one of several ranks.

    Parameters
    ----------
    verify : bool
        Whether to look at what came of it.
    """

    kind: ClassVar[str] = "collective"

    verify: bool = True


@dataclass(frozen=True)
class ServeJob(RankJob):
    """Keep the weights of a scheme that has a server; the world's ranks are those that train."""

    kind: ClassVar[str] = "serve"


@dataclass(frozen=True)
class HelpJob(RankJob):
    """Do what a native scheme needs beside the ranks that train.

    Parameters
    ----------
    role : str
        Of the scheme's helpers.
    """

    kind: ClassVar[str] = "help"

    role: str = ""


KINDS: Mapping[str, str] = {
    "run": "benchmarker.worker.job:RunJob",
    "train": "benchmarker.worker.job:TrainJob",
    "rank": "benchmarker.worker.job:RankJob",
    "rank_train": "benchmarker.worker.job:RankTrainJob",
    "collective": "benchmarker.worker.job:CollectiveJob",
    "serve": "benchmarker.worker.job:ServeJob",
    "help": "benchmarker.worker.job:HelpJob",
    "reference": "benchmarker.worker.job:ReferenceJob",
    "probes": "benchmarker.worker.other_jobs:ProbesJob",
    "calibrate": "benchmarker.worker.other_jobs:CalibrateJob",
    "latency": "benchmarker.worker.other_jobs:LatencyJob",
    "conformance": "benchmarker.worker.other_jobs:ConformanceJob",
    "operator_gradients": "benchmarker.worker.other_jobs:OperatorGradientsJob",
    "problem_gradients": "benchmarker.worker.other_jobs:ProblemGradientsJob",
    "node_tests": "benchmarker.worker.other_jobs:NodeTestsJob",
    "export": "benchmarker.worker.other_jobs:ExportJob",
    "unpack": "benchmarker.worker.other_jobs:UnpackJob",
}
"""The class of each kind of job; imported late, since making all of them takes longer than a run has for it."""


def job_class(kind: str) -> type[Job]:
    """Return the class of a kind of job."""
    found: type[Job] = load_object(KINDS[kind])
    return found


def to_json(job: Job) -> dict[str, Any]:
    values = {"kind": job.kind, **asdict(job)}
    return {**values, "optimizer": job.optimizer.to_json()} if isinstance(job, RunJob) else values


def from_json(data: Mapping[str, Any]) -> Job:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in data.items()
        if name != "kind"
    }
    values["device"] = Device(**values["device"])
    if "world" in values:
        world = dict(values["world"])
        lists = {name: tuple(world[name]) for name in ("addresses", "helpers")}
        values["world"] = World(**{**world, **lists})
    if "optimizer" in values:
        values["optimizer"] = Optimizer.from_json(values["optimizer"])
        if values["optimizer_rule"] is not None:
            add_rule(load_plugin(values["optimizer_rule"]).benchmarker_optimizer())
    return job_class(data["kind"])(**values)
