"""Collectives of several ranks, each a problem of its own: what is timed is the exchange alone."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.problem import Problem
from benchmarker.api.rules import Whole
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass

MAX_ELEMENTS = 1 << 31
MAX_WINDOW = 4096
_NCCL_TESTS = "github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md"


@dataclass(frozen=True)
class Parameters:
    """Size of the vector, in elements."""

    size: Annotated[int, Whole(1, MAX_ELEMENTS)] = 1 << 20


@dataclass(frozen=True)
class MessageParameters:
    """Size of a message in elements, and how many of them go one way before a short answer (1: each is answered)."""

    size: Annotated[int, Whole(1, MAX_ELEMENTS)] = 1 << 10
    window: Annotated[int, Whole(1, MAX_WINDOW)] = 1


def build(net: Network, p: Parameters | MessageParameters) -> None:
    """Add a vector for each rank to ``net``, which computes nothing."""
    net.output(net.reshape(net.input("vector", (p.size,)), shape=(net.batch_size, p.size)))


def _member(name: str, source: str, parameters: type = Parameters) -> Problem:
    return Problem(
        name=name,
        task="collective",
        source=source,
        parameters=parameters,
        build=build,
        batch_size=2,
        reduced={"size": 6},
        modes=("inference",),
        collective=name,
    )


ALL_REDUCE = _member("all_reduce", f"DeepBench (Narang & Diamos 2016); bandwidths as in {_NCCL_TESTS}")
BROADCAST = _member("broadcast", _NCCL_TESTS)
ALL_GATHER = _member("all_gather", _NCCL_TESTS)
REDUCE_SCATTER = _member("reduce_scatter", _NCCL_TESTS)
ALL_TO_ALL = _member("all_to_all", f"{_NCCL_TESTS}; undertherain/benchmarker, kernel alltoall")
POINT_TO_POINT = _member(
    "point_to_point", "OSU micro-benchmarks (Panda et al.), osu_latency and osu_bw", MessageParameters
)
