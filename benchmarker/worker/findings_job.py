"""The job that computes a framework's findings and leaves excerpts of them in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarker.framework import Optimizer, Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators
from benchmarker.options import parse_options
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, load_problem
from benchmarker.worker.stages import Stages


def compute_findings(job: Job, channel: Channel, stages: Stages) -> None:
    """Compute what the job asks for and save it."""
    if job.findings is None:
        raise ValueError("a findings job needs to know what to compute")
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import findings, reference, values
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("device"):
        framework.configure(job.device, threads=job.threads, seed=job.seed)
    problem = load_problem(job.problem)
    graph = problem.graph(job.batch_size, **job.problem_parameters)
    if "training" not in plugin.modes:
        graph = graph.without_loss()
    check_operators(graph, framework.operators, plugin.name)
    probes, steps = tuple(job.findings["probes"]), job.findings["steps"]
    moved = job.findings["moved"]
    question = findings.Question(graph, job.seed, probes, steps, problem.optimizer, moved)
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
        if job.findings["reference"]:
            expected = reference.expected_findings(question)
        else:
            found = reference.without_errors(findings.compute(question, build))
            expected = reference.with_stored_rounding(question, found)
        digests = {
            "parameters": values.digest(question.parameters()),
            "batch": values.digest(question.batch()),
        }
        reference.save(Path(job.findings["path"]), expected, digests)
    channel.send("result", seconds=stages.seconds, version=framework.version(), packages=facts.packages())
