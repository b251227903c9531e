"""The job that computes a framework's findings and leaves excerpts of them in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.framework import Optimizer, Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators
from benchmarker.options import parse_options
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, load_problem
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.worker.findings import Build, Question
    from benchmarker.worker.verification import Expected


def _tensors(job: Job, question: Question, build: Build) -> list[Expected]:
    """Compute the reference, or its steps along a framework's course, or what a framework itself makes."""
    from benchmarker.worker import findings, following, reference

    assert job.findings is not None
    what, course = job.findings["what"], Path(job.findings["course"])
    judged = replace(question, precision=job.precision)
    if what == "reference":
        return reference.expected_findings(judged)
    if what == "following":
        return following.expected_changes(judged, following.load_courses(course, question.probes))
    found = reference.without_errors(findings.compute(question, build))
    if question.graph.loss is None:
        return found
    courses = following.courses(question, build)
    following.save_courses(course, courses)
    return found + following.changes(courses)


def compute_findings(job: Job, channel: Channel, stages: Stages) -> None:
    """Compute what the job asks for and save it."""
    if job.findings is None:
        raise ValueError("a findings job needs to know what to compute")
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import reference, values
        from benchmarker.worker.calm import calm_seeds
        from benchmarker.worker.coarse import FRACTION_BITS
        from benchmarker.worker.findings import COARSE_MOVED, MOVED, Question
        from benchmarker.worker.verification import EPSILON
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("device"):
        framework.configure(job.device, threads=job.threads, seed=job.seed)
    problem = load_problem(job.problem)
    graph = problem.graph(job.batch_size, **job.problem_parameters)
    if "training" not in plugin.modes:
        graph = graph.without_loss()
    check_operators(graph, framework.operators, plugin.name)
    probes, steps = tuple(job.findings["probes"]), job.findings["steps"]
    units = COARSE_MOVED if job.precision in FRACTION_BITS else MOVED
    moved = units * EPSILON[job.precision] if job.findings["moved"] else 0.0
    seeds = job.findings["seeds"]
    question = Question(graph, job.seed, probes, steps, problem.optimizer, moved, seeds=seeds)
    options = parse_options(plugin.options, job.framework_options, f"framework '{plugin.name}'")

    def build(graph: Graph, parameters: Mapping[str, Any], mode: str, optimizer: Optimizer) -> Program:
        return framework.build(
            graph,
            parameters,
            mode=mode,
            device=job.device,
            precision=job.precision,
            optimizer=optimizer,
            options=options,
        )

    with stages.stage("compute"):
        if job.findings["what"] == "reference":
            question = replace(question, seeds=calm_seeds(question, job.precision))
        tensors = _tensors(job, question, build)
        digests = {
            "parameters": values.digest(question.parameters()),
            "batch": values.digest(question.batch()),
        }
        reference.save(Path(job.findings["path"]), tensors, digests)
    channel.send(
        "result",
        seconds=stages.seconds,
        version=framework.version(),
        packages=facts.packages(),
        seeds={name: list(chosen) for name, chosen in question.seeds.items()},
    )
