"""The table of run options: each is declared once, for all that takes, plans, records or shows it."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.api.framework import MODES, PRECISIONS
from benchmarker.api.rules import MAX_COUNT, Choice, Flag, ListOf, Real, Text, Whole
from benchmarker.api.scenario import SCENARIOS
from benchmarker.experiment.experiment_options import LEVELS as LEVELS
from benchmarker.experiment.experiment_options import ExperimentOptions
from benchmarker.experiment.run_option import RunOption, option, options_of
from benchmarker.quick_dataclass import dataclass

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
        "CPUs to bind a run to",
        default=(),
        axis="affinity",
        group="where",
        metavar="CPU",
        caption="bound to CPU {}",
        recorded_at="execution.affinity",
    )
    threads: int = option(
        _COUNT,
        "threads within operators; default: one for each physical core",
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
        "seed for weights and mini-batches; default: 42",
        default=42,
        axis="seeds",
        group="what",
        spelled_out=True,
        recorded_at="seed",
    )
    data: str | None = option(
        Text("a name"),
        "data set, a name from 'list datasets'; default: mini-batches drawn from the seed",
        axis="data",
        plugins="datasets",
        group="what",
        of_recipes=False,
    )
    data_dir: str | None = option(
        Text("a folder"),
        "folder with the data set's files",
        group="what",
        metavar="DIR",
        holds_path=True,
        caption="from {}",
        title="data folder",
        owner="data",
    )
    inputs: str = option(
        Choice(INPUTS),
        "mini-batches: resident on the device before a step, or fed to it as part of the step; default: resident",
        default="resident",
        axis="inputs",
        group="what",
        compares="always",
        of_recipes=False,
    )
    steps: int | None = option(
        _COUNT,
        "number of timed steps; default: about 3 s of them, at least 20",
        axis="steps",
        measures=True,
        recorded_at="execution.steps_requested",
        of_recipes=False,
    )
    samples_per_epoch: int | None = option(
        _COUNT,
        "samples per epoch, a multiple of the batch size, instead of a number of steps",
        axis="samples_per_epoch",
        key="problem_size",
        measures=True,
        caption="epochs of {} samples",
        recorded_at="execution.samples_per_epoch",
        of_recipes=False,
    )
    window: float | None = option(
        _SECONDS,
        "seconds for which inference is repeated, instead of a number of steps",
        axis="windows",
        metavar="SECONDS",
        modes=("inference",),
        measures=True,
        of_recipes=False,
    )
    warmup: int | None = option(
        Whole(0, MAX_COUNT),
        "number of untimed steps before the timed ones; default: about 1 s of them, at least 3",
        axis="warmup",
        measures=True,
        caption="warm-up {}",
        title="warm-up",
        recorded_at="execution.warmup_requested",
        of_recipes=False,
    )
    target_seconds: float = option(
        _SECONDS,
        "length of the timed part if no number of steps is given; default: 3",
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
        "minimum number of samples if no number of steps is given; default: 20",
        default=20,
        key="min_samples",
        computed=True,
        measures=True,
        caption="at least {} samples",
        of_recipes=False,
    )
    sampling: str = option(
        Choice(SAMPLINGS),
        "latency: synchronize after each step; throughput: after each block of steps; default: throughput in "
        "training, otherwise latency",
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
        "after the training, repeat this many of the recipe's first steps alongside the float64 reference, and report "
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
        "processes that train together, each on its own rows of the mini-batch; default: 1",
        default=1,
        axis="ranks",
        group="ranks",
        modes=("training",),
        compares="changed",
        caption="{} ranks",
    )
    scheme: str | None = option(
        Text("a name"),
        "what ranks exchange: a name from 'list schemes', with its constant (averaging/16), or a file; default: "
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
        "how ranks exchange: native, by the framework's own means, or mpi, between its gradients and the update; "
        "default: native if the framework has the scheme",
        axis="exchanges",
        group="ranks",
        computed=True,
        modes=("training",),
        compares="changed",
    )
    scaling: str = option(
        Choice(SCALINGS),
        "strong: ranks share one mini-batch of the batch size; weak: each has its own; default: strong",
        default="strong",
        axis="scalings",
        group="ranks",
        modes=("training",),
        caption="{} scaling",
    )
    network: str | None = option(
        Text("a rate, or shared"),
        "a rate, such as 100mbit, of emulated links between ranks, or shared: the machine's memory, where no bytes "
        "are counted; default: a private network for the run, which counts them",
        axis="networks",
        group="ranks",
        metavar="RATE|shared",
        modes=("training",),
        compares="changed",
        caption="network {}",
    )
    prompt_length: int = option(
        _COUNT,
        "tokens in a generation's prompt; default: 128",
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
        "tokens to generate after the prompt; default: 32",
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
        "how load arrives: single-stream, one query after another; offline, all at once; or server, Poisson arrivals; "
        "default: no scenario, one step after another",
        axis="scenarios",
        modes=("inference", "generation"),
        compares="changed",
        of_recipes=False,
    )
    latency_bound: float | None = option(
        _SECONDS,
        "limit in seconds for the 99th percentile of a server's latencies; finds the highest rate that keeps it",
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
        "how a recipe's training prepares mini-batches: none, when they are needed; thread or process, ahead of time; "
        "default: none",
        default="none",
        axis="prefetches",
        modes=("training",),
        caption="prefetch {}",
        only_recipes=True,
    )
    garbage_collector: str = option(
        Choice(GARBAGE_COLLECTORS),
        "Python's garbage collector during the timed part: on, though only for objects made in that part, or off; "
        "default: on",
        default="on",
        axis="garbage_collectors",
        key="gc",
        compares="changed",
    )
    environment: str = option(
        Text("a name or a path"),
        "the framework's interpreter: current, managed, a path, container:[ENGINE:]IMAGE, or auto: the current one if "
        "it suits, otherwise a managed one; default: auto",
        default="auto",
        axis="environments",
        key="env",
        group="where",
        metavar="NAME|PATH",
        holds_path=True,
    )
    launcher: str = option(
        Text("a name"),
        "how the isolated process is started, a name from 'list launchers'; default: local",
        default="local",
        axis="launchers",
        group="where",
        plugins="launchers",
        recorded_at="execution.launcher",
    )
    start: str = option(
        Choice(STARTS),
        "spawn a new interpreter for each run, or fork one that has imported the framework; default: spawn",
        default="spawn",
        axis="starts",
        group="where",
    )
    compile_cache: str = option(
        Choice(COMPILE_CACHES),
        "what frameworks compile: kept for the next process, or cold, with an empty cache for each process; default: "
        "kept",
        default="kept",
        axis="compile_caches",
        group="where",
    )
    allocator: str = option(
        Choice(ALLOCATORS),
        "freed memory: default, handled by the C library, or no-trim, kept by the process; default: default",
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
        "price of the machine per hour, to compute the cost of a run",
        group="output",
        specified=False,
    )


RUN_OPTIONS: Mapping[str, RunOption] = options_of(RunOptions)
"""Those of one run, by name, in the order of the matrix' axes."""
OPTIONS: Mapping[str, RunOption] = {**RUN_OPTIONS, **options_of(ExperimentOptions)}
"""All, by name."""
OPTION_OF_KEY: Mapping[str, RunOption] = {option.key: option for option in OPTIONS.values()}
"""All, by the name that blueprints and the command line have for them."""
