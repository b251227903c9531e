"""What a record says of a run of several ranks, from what each of them has told."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker import registry
from benchmarker.api.launcher import Event
from benchmarker.experiment.rank_suitability import graph_of_rank, loss_of, statistics_of
from benchmarker.experiment.spec import RunSpec
from benchmarker.graph.cost import GraphCost
from benchmarker.records.assembly.collective import (
    collective_group,
    collective_means,
    collective_of,
    element_bytes,
)
from benchmarker.records.assembly.facts import RankFacts, RunFacts
from benchmarker.records.schema.distributed import (
    Distributed,
    PartSpan,
    RankMember,
    RankNetwork,
    StepParts,
    Volume,
)

VALUE_BYTES = {"fp64": 8}
"""Of a gradient; 4 in all other precisions, whose weights are kept in float32."""
MAX_WIRE_OVERHEAD, MIN_WIRE_SHARE = 1.10, 0.9
"""What an interface counts beyond the payload is headers: above this it is more than was asked for."""
EXCHANGE_ALONE = "all-reduce alone"
"""What the worker calls the framework's own exchange by itself."""
NATIVE_FALLBACK = "the framework itself"


def distributed_of(facts: RunFacts, cost: GraphCost) -> Distributed | None:
    """Return the group of a run of several ranks, None for one of a single process."""
    spec = facts.spec
    if spec.ranks == 1:
        return None
    collective, known = collective_of(spec), facts.ranks
    results = known.results if known else ()
    size = cost.parameter_count * VALUE_BYTES.get(spec.precision, 4)
    graph = graph_of_rank(spec)
    return Distributed(
        ranks=spec.ranks,
        rows=max(1, spec.batch_size // spec.ranks),
        scheme=spec.scheme,
        exchange=spec.exchange,  # type: ignore[arg-type]
        means=_means(spec),
        scaling=None if collective else spec.scaling,  # type: ignore[arg-type]
        batch_normalization=statistics_of(spec) if graph.takes_statistics else None,
        loss=loss_of(spec) if graph.loss_over is not None else None,
        network=RankNetwork(
            kind=known.network if known else "shared",  # type: ignore[arg-type]
            rate=spec.network,
            reason=known.absent_reason if known else None,
        ),
        rendezvous_seconds=_largest(results, "rendezvous"),
        import_wait_seconds=_largest(results, "wait_for_ranks"),
        skew_seconds=_skew(results),
        members=[_member(result, _began(results), known) for result in results] if known else [],
        volume=_volume(_expected_bytes(spec, size), known) if known and results else None,
        parts=_parts(results),
        staleness=known.server["staleness"] if known and known.server else None,
        server_updates=known.server["updates"] if known and known.server else None,
        parameter_bytes=size,
        collective=collective_group(spec, collective) if collective else None,
    )


def _means(spec: RunSpec) -> str:
    collective = collective_of(spec)
    if collective is not None:
        return collective_means(spec, collective)
    if spec.exchange == "mpi":
        return "MPI between the framework's gradients and an update in NumPy"
    native = registry.framework(spec.framework).schemes.get(str(spec.scheme))
    return native.means if native else NATIVE_FALLBACK


def _largest(results: Sequence[Event], stage: str) -> float | None:
    return max((result["seconds"].get(stage, 0.0) for result in results), default=None)


def _step_seconds(result: Event) -> list[float]:
    from benchmarker.worker.measurement.sampling import seconds_per_step

    return seconds_per_step(result["samples_nanoseconds"], result["steps"], result["block_steps"])


def _skew(results: Sequence[Event]) -> float | None:
    if len(results) < 2:
        return None
    apart = (max(same) - min(same) for same in zip(*map(_step_seconds, results)))
    return float(statistics.median(apart))


def _began(results: Sequence[Event]) -> float:
    """Return when the first part of any rank began, by the clock that they share."""
    return min((began for result in results for _, _, began, _ in result["rank"]["part_spans"]), default=0.0)


def _member(result: Event, first: float, known: RankFacts) -> RankMember:
    rank = result["rank"]
    # Clocks of several machines have nothing in common.
    spans = rank["part_spans"] if known.one_clock else ()
    return RankMember(
        rank=rank["rank"],
        cpus=rank["cpus"],
        step_seconds=statistics.median(_step_seconds(result)),
        part_seconds={
            name: statistics.median(seconds) for name, seconds in rank["part_seconds"].items() if seconds
        },
        part_spans=[
            PartSpan(step=step, part=part, began_seconds=began - first, seconds=seconds)
            for step, part, began, seconds in spans
        ],
        report=rank["report"],
        node=known.nodes[rank["rank"]] if known.nodes else None,
    )


def _expected_bytes(spec: RunSpec, size: int) -> float:
    collective = collective_of(spec)
    if collective is not None:
        return float(collective.sent(spec.ranks) * element_bytes(spec))
    return registry.scheme(str(spec.scheme)).sent_bytes(size, spec.ranks) * spec.ranks


def _volume(expected: float, known: RankFacts) -> Volume:
    logical = known.results[0]["rank"]["exchanged_bytes"]
    steps = known.results[0]["steps"]
    wire = None if known.wire_bytes is None else known.wire_bytes / steps
    return Volume(
        expected_bytes=expected,
        logical_bytes=logical,
        wire_bytes=wire,
        findings=list(_contradictions(expected, wire)),
    )


def _contradictions(expected: float, wire: float | None) -> Sequence[str]:
    if wire is None or expected <= 0:
        return ()
    if wire > MAX_WIRE_OVERHEAD * expected:
        return (f"the wire carries {wire / expected:.2f} times the bytes that the exchange needs",)
    if wire < MIN_WIRE_SHARE * expected:
        return (
            f"the wire carries {wire / expected:.2f} of the bytes that the exchange needs: some go another way",
        )
    return ()


def _parts(results: Sequence[Event]) -> StepParts | None:
    parts: list[Mapping[str, list[float]]] = [result["rank"]["part_seconds"] for result in results]
    if not parts or not all(part.get("compute") for part in parts):
        return None
    compute = max(statistics.median(part["compute"]) for part in parts)
    exchange, waiting = _exchange(parts)
    alone, overlap = _overlap(results, parts, compute)
    return StepParts(
        compute_seconds=compute,
        exchange_seconds=exchange,
        waiting_seconds=waiting,
        exchange_alone_seconds=alone,
        overlap=overlap,
    )


def _exchange(parts: Sequence[Mapping[str, list[float]]]) -> tuple[float | None, float | None]:
    """Return the seconds of exchange and of waiting, where a step has them apart."""
    exchanges: list[Any] = [part.get("exchange and update") for part in parts]
    if not all(exchanges):
        return None, None
    # Whoever comes last to the exchange waits for nobody, so its own is the shortest.
    shortest = [min(same) for same in zip(*exchanges)]
    waiting = [statistics.fmean(same) - least for same, least in zip(zip(*exchanges), shortest)]
    return statistics.median(shortest), statistics.median(waiting)


def _overlap(
    results: Sequence[Event], parts: Sequence[Mapping[str, list[float]]], compute: float
) -> tuple[float | None, float | None]:
    """Return the seconds of the exchange alone, and which share of it a step hides, where it was made alone."""
    if not all(part.get(EXCHANGE_ALONE) for part in parts):
        return None, None
    alone = max(statistics.median(part[EXCHANGE_ALONE]) for part in parts)
    step = max(statistics.median(_step_seconds(result)) for result in results)
    # A step quicker than computing alone: something else ran beside one of them.
    return alone, None if compute > step else min(1.0, max(0.0, (compute + alone - step) / alone))
