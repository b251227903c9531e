"""DeepBench's product of two dense matrices."""

from __future__ import annotations

from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the product, ``m`` x ``k`` by ``k`` x ``n``, and which operand is stored transposed."""

    m: int = 1760
    n: int = 128
    k: int = 1760
    a_transposed: bool = False
    b_transposed: bool = False


def build(net: Network, p: Parameters) -> None:
    """Add the product to ``net``; both matrices are operands, so nothing of it is prepared beforehand."""
    a = net.operand("a", (p.k, p.m) if p.a_transposed else (p.m, p.k))
    b = net.operand("b", (p.n, p.k) if p.b_transposed else (p.k, p.n))
    net.output(net.named("gemm").gemm(a, b, trans_a=p.a_transposed, trans_b=p.b_transposed))


def benchmarker_problem() -> Problem:
    return Problem(
        name="deepbench_gemm",
        task="operator",
        source="DeepBench (Narang & Diamos 2016, github.com/baidu-research/DeepBench), dense matrix multiply",
        parameters=Parameters,
        build=build,
        batch_size=1,
        published=(
            Published(0, 2 * 1760 * 128 * 1760),
            Published(0, 2 * 5124 * 700 * 2048, {"m": 5124, "n": 700, "k": 2048}),
        ),
        reduced={"m": 5, "n": 6, "k": 7, "b_transposed": True},
        reduced_batch_size=1,
    )
