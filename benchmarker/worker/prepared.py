"""A problem made native: import, device, initialise, build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from benchmarker.framework import Framework, Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators, composed_operators
from benchmarker.options import parse_options
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.batches import Feeding

    Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Prepared:
    """A problem made native, with everything that verification and sampling need."""

    framework: Framework
    graph: Graph
    parameters: Arrays
    batch: Arrays
    digests: dict[str, str]
    program: Program
    build: Callable[..., Program]
    step: Callable[[Any], Any]
    native_batch: Any
    feed: Feeding


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
        check_operators(graph, framework.operators, plugin.name)
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
        program = build(graph)
        stages.count_compilations = program.compilations
        feed = Feeding(batches, program.load, job.inputs, random=job.data is None)
    digests = {"parameters": values.digest(parameters), "batch": values.digest(feed.first)}
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=composed_operators(graph, framework.operators),
        digests=digests,
    )
    step = feed.step(program.train_step if job.mode == "training" else program.infer)
    batch, native_batch = feed.first, feed.native_first
    return Prepared(framework, graph, parameters, batch, digests, program, build, step, native_batch, feed)
