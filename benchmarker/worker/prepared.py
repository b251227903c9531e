"""A problem made native: import, device, initialise, build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from benchmarker.framework import Framework, Program
from benchmarker.graph.custom import custom_kinds
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators, composed_operators
from benchmarker.graph.transformations.fold_batch_norm import fold_batch_norm
from benchmarker.options import parse_options
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.micro_batching import MicroBatched
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.batches import Feeding

    Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Prepared:
    """A problem made native, with everything that verification and sampling need.

    ``graph``, ``parameters`` and ``batch`` are the problem's own; ``built`` is what became of the graph.
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
    feed: Feeding

    def values(self, output: Any) -> tuple[npt.NDArray[Any], ...]:
        """Return what a step computed forward, its outputs or its loss, as NumPy arrays."""
        return self.program.fetch(output[0] if self.mode == "gradient" else output)


def prepare(job: Job, channel: Channel, stages: Stages) -> Prepared:
    """Import the framework, initialise the device, draw the values and make the problem native."""
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import values
        from benchmarker.worker.batches import Feeding, mini_batches
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("device"):
        device_name = framework.configure(job.device, threads=job.threads, seed=job.seed)
    with stages.stage("initialise"):
        graph = problem_graph(job, job.batch_size)
        built, values_of = _transformed(job, graph)
        check_operators(built, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
        batches = mini_batches(graph, job.seed, job.data)
    options = parse_options(plugin.options, job.framework_options, f"framework '{plugin.name}'")

    def build(graph: Graph, values: Arrays | None = None, mode: str = job.mode) -> Program:
        return framework.build(
            graph,
            parameters if values is None else values,
            mode=mode,
            device=job.device,
            precision=job.precision,
            optimizer=job.optimizer,
            options=options,
        )

    with stages.stage("build"):
        program = build(built, values_of(parameters))
        if job.micro_batch is not None:
            program = MicroBatched(program, job.micro_batch, plugin.name)
        stages.count_compilations = program.compilations
        feed = Feeding(batches, program.load, job.inputs, random=job.data is None)
    digests = {"parameters": values.digest(parameters), "batch": values.digest(feed.first)}
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=composed_operators(built, framework.operators),
        custom_operators=custom_kinds(built, framework.operators.framework),
        digests=digests,
    )
    step, batch, native = feed.step(_step_of(program, job.mode)), feed.first, feed.native_first
    return Prepared(
        job.mode, framework, graph, built, parameters, batch, digests, program, build, step, native, feed
    )


def _step_of(program: Program, mode: str) -> Callable[[Any], Any]:
    steps = {"training": program.train_step, "inference": program.infer, "gradient": program.gradient_step}
    return steps[mode]


def _transformed(job: Job, graph: Graph) -> tuple[Graph, Callable[[Arrays], Arrays]]:
    """Return the graph to build, and its parameters' values from those of the problem's own."""
    if job.fold_batch_norm:
        folded = fold_batch_norm(graph)
        return folded.graph, folded.values
    return problem_graph(job, job.micro_batch) if job.micro_batch else graph, lambda parameters: parameters
