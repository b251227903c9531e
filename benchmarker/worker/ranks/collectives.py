"""A rank of a collective: how it comes to its program, and what is proven of it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from benchmarker.api.collective import Collective, CollectiveProgram, of_problem
from benchmarker.api.framework import Framework, FrameworkPlugin
from benchmarker.api.program import Program
from benchmarker.problems.files import load_object
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import CollectiveJob
from benchmarker.worker.loading import load_problem, load_scheme, problem_graph
from benchmarker.worker.program import Prepared, configure
from benchmarker.worker.ranks.collective_values import Given, compare
from benchmarker.worker.ranks.group import Group
from benchmarker.worker.ranks.prepare import Rank, meet
from benchmarker.worker.stages import Stages
from benchmarker.worker.verification.after_timing import CLOCKS
from benchmarker.worker.verification.findings import FAILED, Check, Proof, check_of, compared, verdict
from benchmarker.worker.verification.verdicts import TensorVerdict, Verification

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.measurement.timing_protocol import Measured

    Array = npt.NDArray[Any]

REFERENCE = "the definition in float64, from the vectors of all ranks"
EXACT = "whole numbers, whose sums float32 holds exactly in any order: every element must match exactly"
LAST, OTHERS = "result of the last timed step", "result of a step with other vectors"
TIMED, FURTHER = 0, 1
"""Which vectors ranks give."""


class ExchangingProgram(Program):
    """A collective as a program whose inference is the exchange; a mini-batch is what this rank gives.

    Parameters
    ----------
    native : CollectiveProgram
        The collective.
    """

    def __init__(self, native: CollectiveProgram) -> None:
        self._native = native

    def load(self, batch: Mapping[str, Array]) -> Any:
        return self._native.load(batch["vector"])

    def infer(self, batch: Any) -> Any:
        return self._native.run(batch)

    def synchronize(self, output: Any) -> None:
        self._native.synchronize(output)

    def parameters(self) -> dict[str, Array]:
        return {}

    def fetch(self, output: Any) -> tuple[Array, ...]:
        return (np.asarray(self._native.fetch(output)),)


class Feed:
    """Gives every step the same vector, as it was at first.

    Parameters
    ----------
    native : CollectiveProgram
        The collective.
    vector : array
        What this rank gives.
    """

    distinct = 1

    def __init__(self, native: CollectiveProgram, vector: Array) -> None:
        self._native, self.resident_bytes = native, vector.nbytes
        self.given = native.load(vector)

    def __call__(self) -> Any:
        self._native.restore(self.given)
        return self.given


@dataclass(frozen=True)
class CollectiveRank:
    """One rank of a collective, ready to exchange.

    Parameters
    ----------
    rank : Rank
        As it is timed.
    collective : Collective
        What is exchanged.
    feed : Feed
        What it gives.
    dtype : type
        Of the elements.
    plugin : FrameworkPlugin
        The framework.
    """

    rank: Rank
    collective: Collective
    feed: Feed
    dtype: Any
    plugin: FrameworkPlugin


def prepare_collective(job: CollectiveJob, group: Group, channel: Channel, stages: Stages) -> CollectiveRank:
    """Meet the other ranks and make the collective native."""
    scheme = load_scheme(job)
    plugin, framework, communicator = meet(job, scheme, group, stages)
    device_name = configure(framework, job, stages)
    collective = of_problem(load_problem(job.problem).collective, job.problem_parameters)
    assert collective is not None
    dtype: Any = np.float64 if job.precision == "fp64" else np.float32
    with stages.stage("initialise"):
        vector = Given(job.seed, TIMED).vector(group.rank, collective.given(group.size), dtype)
        graph = problem_graph(job, job.batch_size)
    with stages.stage("build"):
        native = _native(job, plugin, collective, dtype)
        program = ExchangingProgram(native)
        stages.count_compilations = program.compilations
        feed = Feed(native, vector)
    digests = _tell(channel, framework, device_name, vector)
    prepared = Prepared(
        job.mode,
        framework,
        graph,
        graph,
        {},
        {},
        digests,
        program,
        lambda: program,
        native.run,
        feed.given,
        cast(Any, feed),
        plugin.name,
    )
    return CollectiveRank(
        Rank(prepared, scheme, group, communicator, None, None), collective, feed, dtype, plugin
    )


def _native(
    job: CollectiveJob, plugin: FrameworkPlugin, collective: Collective, dtype: Any
) -> CollectiveProgram:
    if job.exchange == "native":
        assert plugin.collectives is not None
        made: CollectiveProgram = load_object(plugin.collectives.program)(collective, job.world, dtype)
        return made
    from benchmarker.distributed.mpi_collectives import MpiCollective

    return MpiCollective(collective, dtype)


def _tell(channel: Channel, framework: Framework, device_name: str, vector: Array) -> dict[str, str]:
    from benchmarker.data import values

    digests = {"parameters": values.digest({}), "batch": values.digest({"vector": vector})}
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=[],
        custom_operators={},
        digests=digests,
        optimizer_variant=None,
    )
    return digests


class CollectiveProof:
    """Looks at what ranks have after the first step, after the last timed one, and after one with other vectors.

    What each must have follows from the seed, so that nothing of it passes through what is measured.

    Parameters
    ----------
    job : CollectiveJob
        The run.
    ready : CollectiveRank
        This rank; all make the same calls.
    stages : Stages
        Of the worker.
    """

    def __init__(self, job: CollectiveJob, ready: CollectiveRank, stages: Stages) -> None:
        self._job, self._ready, self._stages = job, ready, stages
        self._group = ready.rank.group

    def start(self) -> tuple[Any, Verification | None]:
        """Make the first step, and return what it returned, and what it was found to be unless nothing is verified."""
        prepared = self._ready.rank.prepared
        with self._stages.stage("compile"):
            output = prepared.step(prepared.feed())
            prepared.program.synchronize(output)
        if not self._job.verify:
            return output, None
        with self._stages.stage("verify"):
            tensors = (self._compare(output, TIMED),)
            status, reason = self._of_all(*verdict(tensors, {}))
        return output, Verification(status, reason, REFERENCE, self._group.size, EXACT, tensors)

    def after_timing(self, measured: Measured) -> Proof:
        """Look again; all ranks' findings are in those of each."""
        start = time.perf_counter()
        checks = [check_of(CLOCKS, measured.contradictions, "they agree")]
        if self._job.verify:
            checks.append(compared(LAST, REFERENCE, [self._compare(measured.samples.output, TIMED)]))
            checks.append(compared(OTHERS, REFERENCE, [self._with_others()]))
        checks = [self._worst(check) for check in checks]
        return Proof(time.perf_counter() - start, tuple(checks))

    def _with_others(self) -> TensorVerdict:
        ready, program = self._ready, self._ready.rank.prepared.program
        elements = ready.collective.given(self._group.size)
        vector = Given(self._job.seed, FURTHER).vector(self._group.rank, elements, ready.dtype)
        output = program.infer(program.load({"vector": vector}))
        program.synchronize(output)
        return self._compare(output, FURTHER)

    def _compare(self, output: Any, number: int) -> TensorVerdict:
        (found,) = self._ready.rank.prepared.program.fetch(output)
        given = Given(self._job.seed, number)
        return compare(self._ready.collective, given, found, self._group.rank, self._group.size)

    def _of_all(self, status: str, reason: str) -> tuple[str, str]:
        for number, (one, why) in enumerate(self._group.gather("verdict", [status, reason])):
            if one == FAILED:
                return FAILED, f"rank {number}: {why}"
        return status, reason

    def _worst(self, check: Check) -> Check:
        status, detail = self._of_all(check.status, check.detail)
        return check if check.status == FAILED else replace(check, status=status, detail=detail)


def rank_facts(ready: CollectiveRank) -> dict[str, Any]:
    """Return what a rank alone knows: who it is and what it gives."""
    given = ready.collective.given(ready.rank.group.size) * np.dtype(ready.dtype).itemsize
    return {
        "rank": ready.rank.group.rank,
        "pid": os.getpid(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "part_seconds": {},
        "part_spans": [],
        "exchanged_bytes": {ready.collective.label: math.floor(given * ready.collective.messages)},
        "report": {},
    }
