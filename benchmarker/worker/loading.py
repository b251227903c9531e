"""What a job names, imported in the worker: problem, scheme and framework, and the graph that it runs."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.api.framework import Framework, FrameworkPlugin
from benchmarker.api.generation import WHOLE, Stage
from benchmarker.api.problem import Problem
from benchmarker.api.scheme import Scheme
from benchmarker.errors import require_supported
from benchmarker.graph.graph import Graph
from benchmarker.problems.files import load_object, load_plugin
from benchmarker.worker.job import ProblemJob, RankJob


def load_problem(value: str) -> Problem:
    """Import a problem by its entry point's value."""
    plugin = load_plugin(value)
    problem: Problem = plugin.benchmarker_problem()
    return problem


def load_scheme(job: RankJob) -> Scheme:
    """Import the scheme of a job, with its constants."""
    usual: Scheme = load_plugin(job.scheme).benchmarker_scheme()
    return replace(usual, **job.scheme_constants)  # type: ignore[type-var]


def load_framework_plugin(value: str) -> FrameworkPlugin:
    """Import a framework's description by its entry point's value."""
    plugin: FrameworkPlugin = load_plugin(value).benchmarker_framework()
    return plugin


def load_framework(plugin: FrameworkPlugin) -> Framework:
    """Import the framework itself, if the programs that it starts are there."""
    require_supported(plugin.missing_program())
    framework: Framework = load_object(plugin.implementation)()
    return framework


def problem_graph(job: ProblemJob, batch_size: int) -> Graph:
    """Build the job's graph: with its loss in training, without in inference, else as it goes backward.

    Of a generation it is that of the whole sequence, which the reference computes; in precision ``int8`` it is
    quantized.
    """
    if job.mode == "generation":
        whole = Stage(WHOLE, *job.generated)
        return load_problem(job.problem).stage(whole, batch_size, **job.problem_parameters)
    problem = load_problem(job.problem)

    def make(size: int) -> Graph:
        graph = problem.graph(size, **job.problem_parameters)
        return graph if job.mode == "training" else graph.without_loss()

    if job.mode == "gradient":
        return problem.graph(batch_size, **job.problem_parameters).for_gradient()
    if job.precision == "int8":
        # Imported here: it computes, and no other precision needs it.
        from benchmarker.worker.quantization import quantized

        return quantized(job, make(batch_size), make)
    return make(batch_size)
