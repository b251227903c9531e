"""A process that a native scheme needs beside its ranks: a scheduler, a server."""

from __future__ import annotations

from pathlib import Path

from benchmarker.api.native_scheme import Helper
from benchmarker.problems.files import load_object
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import HelpJob
from benchmarker.worker.loading import load_framework_plugin, load_scheme
from benchmarker.worker.stages import Stages


def help_ranks(job: HelpJob, channel: Channel, stages: Stages) -> None:
    """Do what the role is for until all ranks have left, and leave what a replay needs."""
    from benchmarker.distributed.replay import staleness
    from benchmarker.worker.ranks.group import all_processes
    from benchmarker.worker.ranks.replayed import MAX_REPLAYED, save_served

    plugin, scheme = load_framework_plugin(job.framework), load_scheme(job)
    with stages.stage("import"):
        helper: Helper = load_object(plugin.helper)(job.world, scheme.name, job.role)
    all_processes(channel)
    with stages.stage("serve"), channel.alive():
        served = helper.run(MAX_REPLAYED)
    if served is not None:
        save_served(Path(job.folder), list(served.log[:MAX_REPLAYED]), served.weights)
    if plugin.schemes[scheme.label].updates_on_server:
        channel.gather("served", None, everyone=True)
    channel.send(
        "result",
        seconds=stages.seconds,
        updates=None if served is None else len(served.log),
        staleness=None if served is None else staleness(served.log),
    )
