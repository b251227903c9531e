"""The process that keeps the weights of a scheme with a server; it imports no framework."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import ServeJob
from benchmarker.worker.loading import load_scheme, problem_graph
from benchmarker.worker.stages import Stages


def serve(job: ServeJob, channel: Channel, stages: Stages) -> None:
    """Serve all ranks until each has said goodbye, and leave what a replay needs."""
    import numpy as np

    from benchmarker.data import values
    from benchmarker.distributed.replay import staleness
    from benchmarker.worker.ranks.group import all_processes
    from benchmarker.worker.ranks.over_mpi import Trained
    from benchmarker.worker.ranks.prepare import communicator_of
    from benchmarker.worker.ranks.replayed import MAX_REPLAYED, save_served

    scheme = load_scheme(job)
    kept: list[Any] = []
    with stages.stage("initialise"):
        graph = problem_graph(job, job.rank_rows)
        parameters = values.draw_parameters(graph, job.seed)
        dtype: Any = np.float64 if job.precision == "fp64" else np.float32
        trained = Trained(graph, job.optimizer, parameters, dtype)
    all_processes(channel)
    with stages.stage("rendezvous"):
        communicator = communicator_of(scheme)

    def watch(updates: int) -> None:
        if updates <= MAX_REPLAYED:
            kept[:] = [trained.weights.copy()]

    with stages.stage("serve"), channel.alive():
        log = list(scheme.serve(trained.replica(watch), communicator))
    save_served(Path(job.folder), log[:MAX_REPLAYED], kept[0] if kept else trained.weights)
    channel.gather("served", None, everyone=True)
    channel.send("result", seconds=stages.seconds, updates=len(log), staleness=staleness(log))
