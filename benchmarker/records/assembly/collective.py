"""What a record says of a collective: what was exchanged, and how quickly."""

from __future__ import annotations

from benchmarker import registry
from benchmarker.api.collective import Collective, of_problem
from benchmarker.experiment.spec import RunSpec
from benchmarker.records.schema import distributed as groups
from benchmarker.records.schema.timing import Timing


def collective_of(spec: RunSpec) -> Collective | None:
    """Return the collective that a run is, None of any other."""
    return of_problem(registry.problem(spec.problem).collective, spec.problem_parameters)


def element_bytes(spec: RunSpec) -> int:
    return 8 if spec.precision == "fp64" else 4


def collective_group(spec: RunSpec, collective: Collective) -> groups.Collective:
    return groups.Collective(
        kind=collective.kind,  # type: ignore[arg-type]
        elements=collective.elements,
        bytes=collective.elements * element_bytes(spec),
        messages=collective.messages,
        bus_factor=collective.bus_factor(spec.ranks),
    )


def collective_means(spec: RunSpec, collective: Collective) -> str:
    """Return what exchanges, in words."""
    own = registry.framework(spec.framework).collectives
    if spec.exchange == "native" and own is not None:
        return own.means.get(collective.kind, "the framework itself")
    from benchmarker.distributed.mpi_collectives import MEANS  # with NumPy, which no other run's record needs

    return f"{MEANS[collective.kind]} of NumPy's buffers"


def bandwidths(spec: RunSpec, timing: Timing) -> dict[str, float | None]:
    """Return the metrics that only a collective has; nothing of any other run."""
    collective = collective_of(spec)
    if collective is None:
        return {}
    moved = collective.elements * element_bytes(spec) * collective.messages * (timing.steps or 0)
    bandwidth = moved / timing.total_seconds if timing.total_seconds else None
    median = timing.step_seconds.median if timing.step_seconds else None
    return {
        "algorithmic_bandwidth": bandwidth,
        "bus_bandwidth": None if bandwidth is None else bandwidth * collective.bus_factor(spec.ranks),
        "one_way_seconds": median / 2 if median is not None and collective.is_ping_pong else None,
    }
