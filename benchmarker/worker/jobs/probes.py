"""The job that computes a framework's probes and leaves samples of them in a file."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.graph.support import check_operators
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.loading import load_problem, problem_graph
from benchmarker.worker.other_jobs import ProbesJob
from benchmarker.worker.program import ProgramBuilder, configure, import_framework
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.api.framework import Framework
    from benchmarker.graph.graph import Graph
    from benchmarker.worker.verification.equivalence import TieFinding
    from benchmarker.worker.verification.probes import Build, ProbeSpec
    from benchmarker.worker.verification.tolerances import Expected


def _tensors(job: ProbesJob, spec: ProbeSpec, build: Build) -> list[Expected]:
    """Compute the reference, or its steps along a framework's trajectory, or what a framework itself makes."""
    from benchmarker.worker.verification import probes, reference, stepwise

    trajectory = Path(job.trajectory)
    judged = replace(spec, precision=job.precision)
    if job.what == "reference":
        return reference.expected_probes(judged)
    if job.what == "stepwise":
        return stepwise.expected_changes(judged, stepwise.load_trajectories(trajectory, spec.probes))
    found = reference.without_errors(probes.compute(spec, build))
    if spec.graph.loss is None:
        return found
    trajectories = stepwise.trajectories(spec, build)
    stepwise.save_trajectories(trajectory, trajectories)
    return found + stepwise.changes(trajectories)


def _ties(job: ProbesJob, graph: Graph, framework: Framework, build: Build) -> list[TieFinding]:
    """Return what the framework does with ties of the graph's operators, as far as it has what asking takes."""
    from benchmarker.graph.support import missing_operators
    from benchmarker.worker.conformance.ties import find, tie_cases

    if job.what != "found" or job.moved or job.mode != "training":
        return []
    cases = (
        c for c in tie_cases(graph) if not missing_operators(c.graph(training=True), framework.operators)
    )
    return [find(case, build, job.precision) for case in cases]


def compute_probes(job: ProbesJob, channel: Channel, stages: Stages) -> None:
    """Compute what the job asks for and save it."""
    plugin, framework = import_framework(job, stages)
    from benchmarker.data import values
    from benchmarker.worker.verification import reference
    from benchmarker.worker.verification.low_precision import FRACTION_BITS
    from benchmarker.worker.verification.probes import LOW_PRECISION_MOVED, MOVED, ProbeSpec
    from benchmarker.worker.verification.stable_batches import stable_seeds
    from benchmarker.worker.verification.tolerances import EPSILON
    from benchmarker.worker.verification.verify_checks import affordable, checks

    configure(framework, job, stages)
    graph, own = problem_graph(job, job.batch_size), load_problem(job.problem).optimizer
    check_operators(graph, framework.operators, plugin.name)
    units = LOW_PRECISION_MOVED if job.precision in FRACTION_BITS else MOVED
    moved = units * EPSILON[job.precision] if job.moved else 0.0
    requested = ProbeSpec(graph, job.seed, tuple(job.probes), job.steps, own, moved, seeds=job.seeds)
    spec = affordable(requested)
    builder = ProgramBuilder.of(job, plugin, framework, job.precision, job.framework_options)

    with stages.stage("compute"):
        if job.what == "reference":
            spec = replace(spec, seeds=stable_seeds(spec, job.precision))
        tensors = _tensors(job, spec, builder.build)
        digests = {
            "parameters": values.digest(spec.parameters()),
            "batch": values.digest(spec.batch()),
        }
        reference.save(Path(job.path), tensors, digests)
        ties = _ties(job, graph, framework, builder.build)
        judged = replace(spec, precision=job.precision)
        wanted = job.what == "found" and not job.moved
        found = list(checks(requested, judged, builder.build, job.device.type)) if wanted else []
    channel.send(
        "result",
        seconds=stages.seconds,
        version=framework.version(),
        packages=facts.packages(),
        seeds={name: list(chosen) for name, chosen in spec.seeds.items()},
        ties=[asdict(tie) for tie in ties],
        checks=[check.to_json() for check in found],
    )
