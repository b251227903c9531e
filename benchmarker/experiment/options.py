"""The table of run options: each is declared once, for all that takes, plans, records or shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarker.api.framework import MODES, PRECISIONS
from benchmarker.api.rules import MAX_COUNT, Choice, Flag, ListOf, Real, Text, Whole
from benchmarker.api.scenario import SCENARIOS
from benchmarker.experiment.experiment_options import LEVELS as LEVELS
from benchmarker.experiment.experiment_options import ExperimentOptions
from benchmarker.experiment.run_option import RunOption, option, options_of

DEVICES = ("cpu", "cuda")
INPUTS = ("resident", "fed")
STARTS = ("spawn", "fork")
COMPILE_CACHES = ("kept", "cold")
GARBAGE_COLLECTORS = ("on", "off")
ALLOCATORS = ("default", "no-trim")
SAMPLINGS = ("latency", "throughput")
PREFETCH = ("none", "thread", "process")
EXCHANGES = ("native", "mpi")
SCALINGS = ("strong", "weak")
MAX_RANKS = 249
"""One less than the network of a run has places: a scheme may have a server."""
MAX_SEED = 2**32 - 1
"""NumPy's generator, which Chainer draws from, takes no larger one."""
MAX_PRICE = 1_000_000_000

_COUNT = Whole(1, MAX_COUNT)
_SECONDS = Real(above=0.0)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of one run; all but those of its framework, problem and optimizer."""

    mode: str = option(
        Choice(MODES),
        "what a step does: inference, training, gradient or generation; default: training",
        default="training",
        axis="modes",
        group="what",
        computed=True,
        compares="always",
        spelled_out=True,
        caption="{}",
        always_shown=True,
        recorded_at="mode",
        of_recipes=False,
    )
    batch_size: int = option(
        _COUNT,
        "samples in a mini-batch; default: the problem's",
        default=1,
        axis="batch_sizes",
        group="what",
        computed=True,
        compares="always",
        spelled_out=True,
        caption="batch size {}",
        always_shown=True,
        recorded_at="batch_size",
    )
    precision: str = option(
        Choice(PRECISIONS),
        "number format: fp32, fp64, tf32, bf16, fp16 or int8 (quantized inference); default: fp32",
        default="fp32",
        axis="precisions",
        group="what",
        compares="always",
        spelled_out=True,
        caption="{}",
        always_shown=True,
        recorded_at="precision",
    )
    device: str = option(
        Choice(DEVICES),
        "where to compute: cpu or cuda; default: cpu",
        default="cpu",
        axis="devices",
        group="where",
        compares="always",
        spelled_out=True,
        always_shown=True,
        recorded_at="device.type",
    )
    gpus: tuple[int, ...] = option(
        ListOf(Whole(0, MAX_COUNT)),
        "indices of the GPUs to use",
        default=(),
        axis="gpus",
        group="where",
        metavar="N",
    )
    affinity: tuple[int, ...] = option(
        ListOf(Whole(0)),
        "CPUs to which a run is bound",
        default=(),
        axis="affinity",
        group="where",
        metavar="CPU",
        caption="bound to CPU {}",
        recorded_at="execution.affinity",
    )
    threads: int = option(
        _COUNT,
        "threads inside operators; default: physical cores",
        default=1,
        axis="threads",
        group="where",
        computed=True,
        compares="always",
        spelled_out=True,
        always_shown=True,
        recorded_at="execution.threads",
    )
    seed: int = option(
        Whole(0, MAX_SEED),
        "seed of weights and mini-batches; default: 42",
        default=42,
        axis="seeds",
        group="what",
        spelled_out=True,
        recorded_at="seed",
    )
    data: str | None = option(
        Text("a name"),
        "data set, as 'list datasets' names them; without one, mini-batches are drawn from the seed",
        axis="data",
        plugins="datasets",
        group="what",
        of_recipes=False,
    )
    data_dir: str | None = option(
        Text("a folder"),
        "folder of the data set's files",
        group="what",
        metavar="DIR",
        holds_path=True,
        caption="from {}",
        title="data folder",
        owner="data",
    )
    inputs: str = option(
        Choice(INPUTS),
        "mini-batches resident on the device before a step, or fed in it; default: resident",
        default="resident",
        axis="inputs",
        group="what",
        compares="always",
        of_recipes=False,
    )
    steps: int | None = option(
        _COUNT,
        "timed steps; default: about 3 s of them, at least 20",
        axis="steps",
        measures=True,
        recorded_at="execution.steps_requested",
        of_recipes=False,
    )
    samples_per_epoch: int | None = option(
        _COUNT,
        "samples of an epoch, a multiple of the batch size, instead of a number of steps",
        axis="samples_per_epoch",
        key="problem_size",
        measures=True,
        caption="epochs of {} samples",
        recorded_at="execution.samples_per_epoch",
        of_recipes=False,
    )
    window: float | None = option(
        _SECONDS,
        "seconds that inference is repeated for, instead of a number of steps",
        axis="windows",
        metavar="SECONDS",
        modes=("inference",),
        measures=True,
        of_recipes=False,
    )
    warmup: int | None = option(
        Whole(0, MAX_COUNT),
        "untimed steps before the timed ones; default: about 1 s of them, at least 3",
        axis="warmup",
        measures=True,
        caption="warm-up {}",
        title="warm-up",
        recorded_at="execution.warmup_requested",
        of_recipes=False,
    )
    target_seconds: float = option(
        _SECONDS,
        "length of the timed part, where the number of steps is not given; default: 3",
        default=3.0,
        key="seconds",
        metavar="SECONDS",
        computed=True,
        measures=True,
        caption="about {} s",
        title="aim [s]",
        of_recipes=False,
    )
    minimum_samples: int = option(
        _COUNT,
        "minimum number of samples, where the number of steps is not given; default: 20",
        default=20,
        key="min_samples",
        computed=True,
        measures=True,
        caption="at least {} samples",
        of_recipes=False,
    )
    sampling: str = option(
        Choice(SAMPLINGS),
        "latency: synchronized each step; throughput: each block of steps; default: throughput in training, "
        "else latency",
        default="latency",
        axis="sampling",
        computed=True,
        compares="always",
        spelled_out=True,
        of_recipes=False,
    )
    breakdown: bool = option(
        Flag(),
        "also time the parts of a step and its operators, in separate passes",
        default=False,
        computed=True,
        measures=True,
        of_recipes=False,
    )
    divergence: int | None = option(
        _COUNT,
        "repeat this many of a recipe's first steps after the training, alongside the float64 reference, and report "
        "how far each parameter is from it",
        modes=("training",),
        measures=True,
        only_recipes=True,
    )
    micro_batch: int | None = option(
        _COUNT,
        "train each mini-batch in parts of this many samples",
        axis="micro_batches",
        group="what",
        modes=("training",),
        compares="changed",
        of_recipes=False,
    )
    ranks: int = option(
        Whole(1, MAX_RANKS),
        "processes that train together, each with its rows of the mini-batch; default: 1",
        default=1,
        axis="ranks",
        group="ranks",
        modes=("training",),
        compares="changed",
        caption="{} ranks",
    )
    scheme: str | None = option(
        Text("a name"),
        "what ranks exchange, as 'list schemes' names it, with its constant (averaging/16), or a file; default: "
        "all-reduce",
        axis="schemes",
        group="ranks",
        metavar="NAME",
        computed=True,
        modes=("training",),
        compares="changed",
    )
    exchange: str | None = option(
        Choice(EXCHANGES),
        "who exchanges: native, the framework's own means, or mpi between its gradients and the update; default: "
        "native where it has the scheme",
        axis="exchanges",
        group="ranks",
        computed=True,
        modes=("training",),
        compares="changed",
    )
    scaling: str = option(
        Choice(SCALINGS),
        "strong: ranks share the mini-batch; weak: each has one of the batch size; default: strong",
        default="strong",
        axis="scalings",
        group="ranks",
        modes=("training",),
        caption="{} scaling",
    )
    network: str | None = option(
        Text("a rate, or shared"),
        "emulate links of a rate between ranks, such as 100mbit, or shared: the machine's memory, where no bytes are "
        "counted; default: a private network for the run, which counts them",
        axis="networks",
        group="ranks",
        metavar="RATE|shared",
        modes=("training",),
        compares="changed",
        caption="network {}",
    )
    prompt_length: int = option(
        _COUNT,
        "tokens in the prompt of a generation; default: 128",
        default=128,
        axis="prompt_lengths",
        group="what",
        metavar="TOKENS",
        modes=("generation",),
        compares="changed",
        caption="prompt {}",
        title="prompt",
        of_recipes=False,
    )
    output_length: int = option(
        Whole(2, MAX_COUNT),
        "tokens to generate after it; default: 32",
        default=32,
        axis="output_lengths",
        group="what",
        metavar="TOKENS",
        modes=("generation",),
        compares="changed",
        caption="output {}",
        title="output",
        of_recipes=False,
    )
    scenario: str | None = option(
        Choice(SCENARIOS),
        "how load arrives: single-stream, one query after the other; offline, all at once; or server, Poisson "
        "arrivals; default: step after step",
        axis="scenarios",
        modes=("inference", "generation"),
        compares="changed",
        of_recipes=False,
    )
    latency_bound: float | None = option(
        _SECONDS,
        "seconds that the 99th percentile of a server's latencies must keep; the highest rate that does is found",
        axis="latency_bounds",
        metavar="SECONDS",
        modes=("inference", "generation"),
        compares="changed",
        caption="99th percentile within {} s",
        owner="scenario",
        of_recipes=False,
    )
    fold_batch_norm: bool = option(
        Flag(),
        "in inference, fold batch normalizations into convolutions",
        default=False,
        group="what",
        modes=("inference",),
        compares="changed",
        of_recipes=False,
    )
    prefetch: str = option(
        Choice(PREFETCH),
        "how a recipe's training prepares mini-batches: none, as they are taken; ahead of time in a thread or a "
        "process; default: none",
        default="none",
        axis="prefetches",
        modes=("training",),
        caption="prefetch {}",
        only_recipes=True,
    )
    garbage_collector: str = option(
        Choice(GARBAGE_COLLECTORS),
        "Python's garbage collector in the timed part: on, only for objects made in it, or off; default: on",
        default="on",
        axis="garbage_collectors",
        key="gc",
        compares="changed",
    )
    environment: str = option(
        Text("a name or a path"),
        "the framework's interpreter: current, managed, a path, container:[ENGINE:]IMAGE, or auto: this one if it "
        "suits, otherwise one made for it; default: auto",
        default="auto",
        axis="environments",
        key="env",
        group="where",
        metavar="NAME|PATH",
        holds_path=True,
    )
    launcher: str = option(
        Text("a name"),
        "how the isolated process is started, as 'list launchers' names them; default: local",
        default="local",
        axis="launchers",
        group="where",
        plugins="launchers",
        recorded_at="execution.launcher",
    )
    start: str = option(
        Choice(STARTS),
        "spawn an interpreter per run, or fork one that has imported the framework; default: spawn",
        default="spawn",
        axis="starts",
        group="where",
    )
    compile_cache: str = option(
        Choice(COMPILE_CACHES),
        "what frameworks compile: kept for the next process, or cold, an empty folder for each; default: kept",
        default="kept",
        axis="compile_caches",
        group="where",
    )
    allocator: str = option(
        Choice(ALLOCATORS),
        "freed memory: default, as the C library handles it, or no-trim, kept by the process; default: default",
        default="default",
        axis="allocators",
        group="where",
        caption="allocator {}",
    )
    monitors: tuple[str, ...] | None = option(
        ListOf(Text("a name"), 0),
        "collectors to use, or none; default: all",
        group="where",
        plugins="collectors",
        measures=True,
    )
    verify: bool = option(Flag(), "compare with the reference first", default=True, measures=True)
    timeout: float | None = option(
        _SECONDS, "seconds after which a run is ended", metavar="SECONDS", specified=False
    )
    anonymous: bool = option(
        Flag(), "leave host and user names out of records", default=False, group="output", specified=False
    )
    price_per_hour: float | None = option(
        Real(least=0.0, most=MAX_PRICE),
        "what the machine costs per hour, for the cost of a run",
        group="output",
        specified=False,
    )


RUN_OPTIONS: Mapping[str, RunOption] = options_of(RunOptions)
"""Those of one run, by name, in the order of the matrix' axes."""
OPTIONS: Mapping[str, RunOption] = {**RUN_OPTIONS, **options_of(ExperimentOptions)}
"""All, by name."""
OPTION_OF_KEY: Mapping[str, RunOption] = {option.key: option for option in OPTIONS.values()}
"""All, by the name that blueprints and the command line have for them."""
