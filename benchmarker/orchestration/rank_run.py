"""A run of several ranks: the job and the place of each, and one set of facts from all that they told."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.launcher import Event, Launcher, RankPlace
from benchmarker.api.world import World
from benchmarker.execution.environments import Interpreter
from benchmarker.execution.free_addresses import free_addresses
from benchmarker.execution.isolated import ANSWERED, Answer, first_failure, run_isolated_group
from benchmarker.execution.launchers.log_watch import MAX_LOG_BYTES
from benchmarker.execution.launchers.pmi import PmiServer, mpi_variables
from benchmarker.execution.outcomes import Failure
from benchmarker.execution.placed_ranks import is_one_machine, nodes_of, placed_network
from benchmarker.execution.rank_networks import LOOPBACK, SHARED, RankNetwork, open_rank_network
from benchmarker.execution.variables import ProcessSettings
from benchmarker.experiment.spec import RunSpec
from benchmarker.files import open_regular
from benchmarker.machine.threads import usable_cpus
from benchmarker.orchestration.events import RunEvents
from benchmarker.orchestration.rank_events import RankEvents
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.assembly.facts import RankFacts
from benchmarker.worker.job import HelpJob, RankJob, ServeJob

MAX_RENDEZVOUS = 3
"""How often ranks try to meet where another process takes a port before they do."""
PORT_TAKEN = ("address already in use", "eaddrinuse", "errno 98", "failed to bind", "bind failed")
MEETING = ("rendezvous", "serve")
"""The stages in which a port is taken; a helper has the second for all that it does."""
RENDEZVOUS_SECONDS = 300.0
MIN_SILENCE_SECONDS = 120.0
"""How long a rank may say nothing while others wait for it, or be stopped by a signal, at least."""


@dataclass(frozen=True)
class GroupAnswer:
    """What all ranks said, and how they ended.

    Parameters
    ----------
    events : mapping
        Those of rank 0, with what is known of all in place of what it knows alone.
    failure : Failure or None
        Why the run came to no good end, the rank named.
    answer : Answer
        Of rank 0.
    tail : str
        The last lines of the log of whoever failed.
    ranks : RankFacts or None
        What a record says of all of them; None before all have ended well.
    """

    events: Mapping[str, Event]
    failure: Failure | None
    answer: Answer
    tail: str
    ranks: RankFacts


class RankRun:
    """Runs the ranks of one run.

    Parameters
    ----------
    spec : RunSpec
        What was asked for.
    job : RankJob
        What each of them does, but for its place.
    log : Path
        Of the run.
    """

    def __init__(self, spec: RunSpec, job: RankJob, log: Path) -> None:
        self._spec, self._job, self._log = spec, job, log
        # A collective by itself has none.
        scheme = None if spec.scheme is None else registry.scheme(spec.scheme)
        self._has_server = scheme is not None and scheme.has_server and spec.exchange == "mpi"
        own = registry.framework(spec.framework).schemes.get(str(spec.scheme))
        self._helpers = own.helpers if own and spec.exchange == "native" else ()
        self._extra_processes = ("server",) if self._has_server else self._helpers
        self._processes = spec.ranks + len(self._extra_processes)
        self._nodes: tuple[int, ...] | None = None
        self._one_clock = True

    def run(
        self,
        plugin: FrameworkPlugin,
        interpreter: Interpreter,
        settings: ProcessSettings,
        first: RunEvents,
        launcher: Launcher,
        meanwhile: AbstractContextManager[object],
    ) -> GroupAnswer:
        """Run all of them to their end; where a port is taken before they meet, again with others."""
        for attempt in range(MAX_RENDEZVOUS):
            found = self._once(plugin, interpreter, settings, first, launcher, meanwhile, attempt)
            if found.failure is None or not _port_taken(found):
                break
        return found

    def _once(
        self,
        plugin: FrameworkPlugin,
        interpreter: Interpreter,
        settings: ProcessSettings,
        first: RunEvents,
        launcher: Launcher,
        meanwhile: AbstractContextManager[object],
        attempt: int,
    ) -> GroupAnswer:
        folder = self._log.parent / f"ranks_{attempt}"
        folder.mkdir()
        logs = [self._log, *(folder / f"{self._name(n)}.log" for n in range(1, self._processes))]
        with ExitStack() as stack:
            places = launcher.rank_places(self._processes)
            network = stack.enter_context(self._network(places))
            pmi = stack.enter_context(PmiServer(self._processes)) if self._uses_mpi(plugin) else None
            if places is not None:
                self._nodes, self._one_clock = nodes_of(places), is_one_machine(places)
            events = RankEvents(self._spec.ranks, len(self._extra_processes), first, network.sent_bytes)
            answers = run_isolated_group(
                self._jobs(network, folder, places),
                plugin,
                interpreter,
                settings=self._settings(settings, network, pmi, places),
                handler=events.handle,
                logs=logs,
                launcher=launcher,
                meanwhile=meanwhile,
                silence=MIN_SILENCE_SECONDS if self._spec.timeout is None else None,
                answered=(*ANSWERED, "gather"),
            )
            kind = network.kind
            absent = network.absent_reason
        for number, path in enumerate(logs[1:], 1):
            _append(self._log, path, self._name(number))
        return self._together(answers, events, kind, absent)

    def _network(self, places: Sequence[RankPlace] | None) -> AbstractContextManager[RankNetwork]:
        requested = self._spec.network
        if places is not None:
            return nullcontext(placed_network(places, requested))
        if requested == SHARED:
            return open_rank_network(self._processes, wanted=SHARED)
        return open_rank_network(self._processes, rate=requested)

    def _uses_mpi(self, plugin: FrameworkPlugin) -> bool:
        return self._spec.exchange == "mpi" or any("mpi4py" in needed for needed in plugin.rank_requirements)

    def _name(self, number: int) -> str:
        return (
            f"rank {number}"
            if number < self._spec.ranks
            else self._extra_processes[number - self._spec.ranks]
        )

    def _full_name(self, number: int) -> str:
        name = self._name(number)
        return f"{name} of {self._spec.ranks}" if number < self._spec.ranks else f"the {name}"

    def _jobs(self, network: RankNetwork, folder: Path, places: Sequence[RankPlace] | None) -> list[RankJob]:
        ranks, addresses = self._spec.ranks, self._addresses(network, places)
        own, others = addresses[:ranks], addresses[ranks:]
        jobs: list[RankJob] = [
            replace(
                self._job,
                world=World(number, ranks, own, RENDEZVOUS_SECONDS, network.interface, others),
                folder=str(folder),
            )
            for number in range(ranks)
        ]
        if self._has_server:
            jobs.append(ServeJob(**vars(jobs[0])))
        # What a job has beside a rank's (whether to verify a collective) is no helper's.
        shared = {field.name: getattr(jobs[0], field.name) for field in fields(RankJob)}
        return [*jobs, *(HelpJob(**shared, role=role) for role in self._helpers)]

    def _addresses(self, network: RankNetwork, places: Sequence[RankPlace] | None) -> tuple[str, ...]:
        if places is None:
            return free_addresses(network.hosts)
        return tuple(f"{host}:{place.port}" for host, place in zip(network.hosts, places, strict=True))

    def _settings(
        self,
        settings: ProcessSettings,
        network: RankNetwork,
        pmi: PmiServer | None,
        places: Sequence[RankPlace] | None,
    ) -> list[ProcessSettings]:
        # By TCP alone where bytes are counted: through shared memory none would pass there.
        over = None if network.interface == LOOPBACK and network.kind == SHARED else network.interface
        # On other machines CPUs are the engine's to give, and have other numbers.
        usable = () if places and not is_one_machine(places) else tuple(usable_cpus())
        cpus = cpus_of_ranks(self._spec.affinity or usable, self._spec.ranks, self._spec.threads)
        return [
            replace(
                settings,
                affinity=cpus[number] if number < len(cpus) else self._spec.affinity,
                command_prefix=network.prefixes[number],
                variables={**pmi.variables(number), **mpi_variables(over)} if pmi else {},
                descriptors=pmi.descriptors(number) if pmi else (),
            )
            for number in range(self._processes)
        ]

    def _together(
        self, answers: Sequence[Answer], events: RankEvents, network: str, absent: str | None
    ) -> GroupAnswer:
        ranks, failed = (
            answers[: self._spec.ranks],
            first_failure(answers, [self._full_name(number) for number in range(self._processes)]),
        )
        results = [answer.events["result"] for answer in ranks if "result" in answer.events]
        complete = failed is None and len(results) == self._spec.ranks
        beside = (answer.events.get("result") for answer in answers[self._spec.ranks :])
        server = next((result for result in beside if result and result["staleness"] is not None), None)
        tail = next(
            (answer.log_tail for answer in answers if answer.failure is not None and answer.log_tail), ""
        )
        facts = RankFacts(
            results if complete else (),
            server,
            network,
            absent,
            events.wire_bytes,
            self._nodes,
            self._one_clock,
        )
        merged = dict(ranks[0].events)
        if complete:
            merged["result"] = merged_result(results)
        else:
            merged.pop("result", None)
        return GroupAnswer(merged, failed, ranks[0], tail, facts)


def cpus_of_ranks(usable: Sequence[int], ranks: int, threads: int) -> list[tuple[int, ...]]:
    """Return the CPUs that each rank is bound to: its own where there are enough, else none in particular."""
    if ranks * threads > len(usable):
        return []
    return [tuple(usable[number * threads : (number + 1) * threads]) for number in range(ranks)]


def merged_result(results: Sequence[Event]) -> dict[str, Any]:
    """Return the result of all ranks: the step is that of the slowest, the loss the mean over ranks."""
    slowest = [max(same) for same in zip(*(result["samples_nanoseconds"] for result in results))]
    warm = [max(same) for same in zip(*(result["warmup_nanoseconds"] for result in results))]
    peaks = [result["memory"]["peak_bytes"] for result in results]
    return {
        **results[0],
        "samples_nanoseconds": slowest,
        "warmup_nanoseconds": warm,
        # Whoever was quicker in one block waits in the next: no single rank took as long as all slowest blocks.
        "wall_nanoseconds": max(sum(slowest), *(result["wall_nanoseconds"] for result in results)),
        "loss_first": _mean([result["loss_first"] for result in results]),
        "loss_last": _mean([result["loss_last"] for result in results]),
        "memory": {**results[0]["memory"], "peak_bytes": None if None in peaks else sum(peaks)},
    }


def _mean(losses: Sequence[float | None]) -> float | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) / len(known) if len(known) == len(losses) else None


def _port_taken(found: GroupAnswer) -> bool:
    failed = found.failure
    if failed is None or failed.stage not in MEETING:
        return False
    text = f"{failed.message}\n{found.tail}".lower()
    return any(sign in text for sign in PORT_TAKEN)


def _append(log: Path, other: Path, name: str) -> None:
    """Add what another rank printed to the log of the run."""
    with suppress(OSError):
        with os.fdopen(open_regular(other), "rb") as stream:
            data = stream.read(MAX_LOG_BYTES)
        if data:
            with os.fdopen(open_regular(log, add=True), "ab") as stream:
                stream.write(f"\n--- {name} ---\n".encode() + data)
