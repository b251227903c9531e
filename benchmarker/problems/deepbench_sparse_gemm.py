"""DeepBench's product of a sparse and a dense matrix."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import Real
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the product, ``m`` x ``k`` by ``k`` x ``n``, and the share of zeros of the left matrix."""

    m: int = 7680
    n: int = 2
    k: int = 2560
    sparsity: Annotated[float, Real(least=0.0, below=1.0)] = 0.95


def build(net: Network, p: Parameters) -> None:
    """Add the product to ``net``.

    The sparse matrix is the weight of a pruned network: constant, and brought to a framework's sparse form
    beforehand. Operations are counted as those of the dense product.
    """
    drawn = Distribution("normal", probability=1.0 - p.sparsity, otherwise=0.0)
    a = net.constant("a", (p.m, p.k), drawn)
    b = net.operand("b", (p.k, p.n))
    net.output(net.named("gemm").sparse_matmul(a, b))


def benchmarker_problem() -> Problem:
    return Problem(
        name="deepbench_sparse_gemm",
        task="operator",
        source="DeepBench (Narang & Diamos 2016, github.com/baidu-research/DeepBench), sparse matrix multiply",
        parameters=Parameters,
        build=build,
        batch_size=1,
        published=(
            Published(0, 2 * 7680 * 2 * 2560),
            Published(0, 2 * 10752 * 1500 * 3584, {"m": 10752, "n": 1500, "k": 3584}),
        ),
        reduced={"m": 8, "n": 3, "k": 9, "sparsity": 0.7},
        reduced_batch_size=1,
        modes=("inference",),
    )
