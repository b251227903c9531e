"""How a rank comes to its program: variables, import, meeting the others, and what exchanges."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from benchmarker.api.framework import Framework, FrameworkPlugin
from benchmarker.api.scheme import Communicator, Scheme
from benchmarker.graph.graph import Graph
from benchmarker.problems.files import load_object
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RankJob
from benchmarker.worker.loading import load_framework_plugin, problem_graph
from benchmarker.worker.measurement import sampling
from benchmarker.worker.measurement.micro_batching import MicroBatched
from benchmarker.worker.program import Build, Prepared, configure, import_framework, made_native
from benchmarker.worker.ranks.group import Group
from benchmarker.worker.ranks.over_mpi import MpiProgram, Trained
from benchmarker.worker.ranks.view import AmongAll, RankView
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

MASKS_APART = 7919
"""What the seeds of two neighbouring ranks' dropout differ by; the first rank's is that of a run of one."""
MAX_SEED = 2**32
Change = Callable[[Graph], Graph]
"""Makes another graph of one, of any number of rows."""


@dataclass(frozen=True)
class Rank:
    """One rank, ready to train.

    Parameters
    ----------
    prepared : Prepared
        Its program as one of the whole mini-batch.
    scheme : Scheme
        What is exchanged.
    group : Group
        The others.
    communicator : Communicator or None
        Over MPI; None where the framework exchanges.
    over_mpi : MpiProgram or None
        What exchanges over it.
    micro_batch : int or None
        Rows of a micro-batch.
    is_served : bool
        Whether weights and optimizer are a server's.
    make : callable, optional
        Makes the program of a change of the graph with the problem's parameters, which exchanges by the same means.
    """

    prepared: Prepared
    scheme: Scheme
    group: Group
    communicator: Communicator | None
    over_mpi: MpiProgram | None
    micro_batch: int | None
    is_served: bool = False
    make: Callable[[Change], tuple[RankView, MpiProgram | None]] | None = None

    def with_graph(self, change: Change) -> Rank:
        """Return the rank with another program of the same parameters, of a changed graph, before its first step."""
        assert self.make is not None, "a rank that trains"
        view, over_mpi = self.make(change)
        graph = change(self.prepared.built)
        prepared = replace(self.prepared, graph=graph, built=graph, program=view, step=view.train_step)
        return replace(self, prepared=prepared, over_mpi=over_mpi)

    @property
    def view(self) -> RankView:
        """The program."""
        assert isinstance(self.prepared.program, RankView)
        return self.prepared.program

    def facts(
        self, parts: dict[str, list[float]], spans: Sequence[tuple[int, str, float, float]] = ()
    ) -> dict[str, Any]:
        """Return what a rank alone knows: who it is, what it sends, how long the parts of its steps take and when."""
        over_mpi, counted = self.over_mpi, cast(Any, self.communicator)
        exchanged = counted.bytes_each_step(over_mpi.made) if over_mpi else self.view.exchanged()
        return {
            "rank": self.group.rank,
            "pid": os.getpid(),
            "cpus": sorted(os.sched_getaffinity(0)),
            "part_seconds": parts,
            "part_spans": list(spans),
            "exchanged_bytes": exchanged,
            "report": over_mpi.steps.report() if over_mpi else {},
        }

    def leave(self) -> None:
        """Part from the other ranks, unless that was part of what is looked at after the timed part."""
        if not self.scheme.is_replayed:
            self.end()

    def end(self) -> None:
        """Make no further step, by whatever they met by; return once a server has left what it knows."""
        if self.over_mpi is None:
            self.prepared.framework.leave()
        else:
            self.over_mpi.steps.end()
        if self.is_served:
            self.group.gather_with_server("served", None)


def prepare_rank(job: RankJob, scheme: Scheme, group: Group, channel: Channel, stages: Stages) -> Rank:
    """Meet the other ranks and make the problem native."""
    plugin, framework, communicator = meet(job, scheme, group, stages)
    masks = replace(job, seed=(job.seed + MASKS_APART * group.rank) % MAX_SEED)
    device_name = configure(framework, masks, stages)
    exchanging: list[MpiProgram] = []
    of_all = rows_of_all(job, plugin, scheme)

    def program_of(built: Graph, values: Arrays, build: Build, change: Change | None = None) -> RankView:
        counted = built.counted
        if communicator is None and of_all is not None:
            whole = problem_graph(job, of_all)
            program = build(change(whole) if change else whole, values)
            if counted:
                program = AmongAll(program, group, counted)
        elif communicator is None:
            program = build(built, values)
        else:
            trained = Trained(
                built, job.optimizer, values, np.float64 if job.precision == "fp64" else np.float32
            )
            program = MpiProgram(build(built, values, "gradient"), trained, scheme, communicator)
            exchanging.append(program)
        if job.micro_batch is not None:
            program = MicroBatched(program, job.micro_batch, plugin.name, counted)
        return RankView(program, group, counted)

    def make(change: Change) -> tuple[RankView, MpiProgram | None]:
        view = program_of(change(prepared.built), prepared.parameters, prepared.build, change)
        return view, exchanging[-1] if exchanging else None

    prepared = made_native(job, plugin, framework, device_name, program_of, channel, stages, job.rank_rows)
    with stages.stage("fill"):
        # All of them before the first step: which one a step took must be known afterwards.
        prepared.feed.fill(job.steps or sampling.MAX_SAMPLES)
    over_mpi = exchanging[0] if exchanging else None
    own = plugin.schemes.get(scheme.label) if communicator is None else None
    is_served = scheme.has_server if own is None else own.updates_on_server
    return Rank(prepared, scheme, group, communicator, over_mpi, job.micro_batch, is_served, make)


def rows_of_all(job: RankJob, plugin: FrameworkPlugin, scheme: Scheme) -> int | None:
    """Return how many rows all ranks take at once; None where a program's graph has those of its rank."""
    if job.exchange != "native" or plugin.schemes[scheme.name].rows != "all":
        return None
    return (job.micro_batch or job.rank_rows) * job.world.size


def meet(
    job: RankJob, scheme: Scheme, group: Group, stages: Stages
) -> tuple[FrameworkPlugin, Framework, Communicator | None]:
    """Import the framework and meet the other ranks, by MPI unless the framework does."""
    plugin, native = load_framework_plugin(job.framework), job.exchange == "native"
    if native and plugin.rank_variables:
        os.environ.update(load_object(plugin.rank_variables)(job.world, scheme.name))
    plugin, framework = import_framework(job, stages)
    with stages.stage("wait_for_ranks"):
        group.meet()
    with stages.stage("rendezvous"):
        if not native:
            return plugin, framework, communicator_of(scheme)
        framework.join(job.world, scheme.name)
    return plugin, framework, None


def communicator_of(scheme: Scheme) -> Communicator:
    """Return what ranks exchange by over MPI; collective."""
    from benchmarker.distributed.mpi_communicator import MpiCommunicator

    communicator: Communicator = MpiCommunicator(has_server=scheme.has_server)
    return communicator
