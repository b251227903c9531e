"""How a worker comes to a native program: import, device, initialise, build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.options import parse_options
from benchmarker.api.program import Program
from benchmarker.graph.custom import custom_kinds
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators, composed_operators
from benchmarker.graph.transformations.fold_batch_norm import fold_batch_norm
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.batches import batches_of
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, RunJob
from benchmarker.worker.loading import load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.measurement.micro_batching import MicroBatched
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.data.batches import BatchFeeder

    Arrays = dict[str, npt.NDArray[Any]]


def import_framework(job: Job, stages: Stages) -> tuple[FrameworkPlugin, Framework]:
    """Import the job's framework, with what draws weights and mini-batches."""
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.data import batches, values  # noqa: F401 - their import is part of this stage
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    return plugin, framework


def framework_options(job: Any, plugin: FrameworkPlugin) -> Any:
    """Return the checked options of the framework that a job names."""
    return parse_options(plugin.options, job.framework_options, f"framework '{plugin.name}'")


def configure(framework: Framework, job: Job, stages: Stages) -> str:
    """Initialise the job's device and return its name."""
    with stages.stage("device"):
        return framework.configure(job.device, threads=job.threads, seed=job.seed)


@dataclass(frozen=True)
class ProgramBuilder:
    """Makes graphs native in one framework, on one device and in one precision."""

    framework: Framework
    device: Device
    precision: str
    options: Any

    @staticmethod
    def of(
        job: Job,
        plugin: FrameworkPlugin,
        framework: Framework,
        precision: str,
        options: Mapping[str, Any] | None = None,
    ) -> ProgramBuilder:
        """Return the builder for a job, the framework's options checked."""
        parsed = parse_options(plugin.options, options or {}, f"framework '{plugin.name}'")
        return ProgramBuilder(framework, job.device, precision, parsed)

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, npt.NDArray[Any]],
        mode: str,
        optimizer: Optimizer = Optimizer(),
    ) -> Program:
        return self.framework.build(
            graph,
            parameters,
            mode=mode,
            device=self.device,
            precision=self.precision,
            optimizer=optimizer,
            options=self.options,
        )


@dataclass(frozen=True)
class Prepared:
    """A problem made native, with everything that verification and sampling need.

    ``graph``, ``parameters`` and ``batch`` are the problem's own; ``built`` is what became of the graph; ``numbers`` is
    what the optimizer's rule has kept of steps whose constants changed.
    """

    mode: str
    framework: Framework
    graph: Graph
    built: Graph
    parameters: Arrays
    batch: Arrays
    digests: dict[str, str]
    program: Program
    build: Callable[..., Program]
    step: Callable[[Any], Any]
    native_batch: Any
    feed: BatchFeeder
    framework_name: str
    numbers: Mapping[str, float] | None = None

    def values(self, output: Any) -> tuple[npt.NDArray[Any], ...]:
        """Return what a step computed forward, its outputs or its loss, as NumPy arrays."""
        return self.program.fetch(output[0] if self.mode == "gradient" else output)


Build = Callable[..., Program]
MakeProgram = Callable[["Graph", "Arrays", Build], Program]
"""Makes the program of a graph, with the problem's parameters, by what builds programs."""


def prepare(job: RunJob, channel: Channel, stages: Stages) -> Prepared:
    """Import the framework, initialise the device, draw the values and make the problem native."""
    plugin, framework = import_framework(job, stages)
    device_name = configure(framework, job, stages)

    def program_of(built: Graph, values: Arrays, build: Build) -> Program:
        if job.mode == "generation":
            return _generation(job, plugin, framework, values, build)
        program = build(built, values)
        return (
            program
            if job.micro_batch is None
            else MicroBatched(program, job.micro_batch, plugin.name, built.counted)
        )

    return made_native(job, plugin, framework, device_name, program_of, channel, stages)


def made_native(
    job: RunJob,
    plugin: FrameworkPlugin,
    framework: Framework,
    device_name: str,
    program_of: MakeProgram,
    channel: Channel,
    stages: Stages,
    rows: int | None = None,
) -> Prepared:
    """Draw the values and make the problem native.

    Parameters
    ----------
    job : RunJob
        What is run.
    plugin, framework
        The framework, imported and configured.
    device_name : str
        As it was told.
    program_of : callable
        Makes the program.
    channel, stages
        Of the worker.
    rows : int, optional
        How many of a mini-batch's rows the program takes at once, if not those of the job.
    """
    from benchmarker.data import values
    from benchmarker.data.batches import BatchFeeder

    training = job.mode == "training"
    with stages.stage("initialise"):
        graph = problem_graph(job, job.batch_size)
        built, values_of = _transformed(job, graph, rows)
        check_operators(built, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
        batches = batches_of(job, graph)
    builder = ProgramBuilder.of(job, plugin, framework, job.precision, job.framework_options)

    def build(graph: Graph, values: Arrays | None = None, mode: str = job.mode) -> Program:
        return builder.build(graph, parameters if values is None else values, mode, job.optimizer)

    with stages.stage("build"):
        program = program_of(built, values_of(parameters), build)
        stages.count_compilations = program.compilations
        feed = BatchFeeder(batches, program.load, job.inputs, random=job.data is None)
    digests = {"parameters": values.digest(parameters), "batch": values.digest(feed.first)}
    _tell(channel, framework, device_name, built, digests, program.optimizer_variant() if training else None)
    step, batch, native = feed.step(_step_of(program, job.mode)), feed.first, feed.native_first
    own = (job.mode, framework, graph, built, parameters, batch, digests, program)
    return Prepared(*own, build, step, native, feed, plugin.name)


def _tell(
    channel: Channel,
    framework: Framework,
    device_name: str,
    built: Graph,
    digests: dict[str, str],
    variant: str | None,
) -> None:
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=composed_operators(built, framework.operators),
        custom_operators=custom_kinds(built.nodes, framework.operators.framework),
        digests=digests,
        optimizer_variant=variant,
    )


def _step_of(program: Program, mode: str) -> Callable[[Any], Any]:
    steps = {"training": program.train_step, "gradient": program.gradient_step}
    return steps.get(mode, program.infer)


def _generation(
    job: RunJob, plugin: FrameworkPlugin, framework: Framework, values: Arrays, build: Build
) -> Program:
    # Imported here: other runs need none of it.
    from benchmarker.worker.generation import generation_program

    return generation_program(
        job, values, build, lambda g: check_operators(g, framework.operators, plugin.name)
    )


def _transformed(
    job: RunJob, graph: Graph, rows: int | None = None
) -> tuple[Graph, Callable[[Arrays], Arrays]]:
    """Return the graph to build, and its parameters' values from those of the problem's own."""
    if job.fold_batch_norm:
        folded = fold_batch_norm(graph)
        return folded.graph, folded.values
    size = job.micro_batch or rows
    return problem_graph(job, size) if size else graph, lambda parameters: parameters
