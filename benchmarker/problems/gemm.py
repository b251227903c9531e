"""One product of two matrices."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Sizes of the product of ``m`` x ``k`` by ``k`` x ``n``."""

    m: int = 1024
    n: int = 1024
    k: int = 1024


def build(net: Network, p: Parameters) -> None:
    """Add the product to ``net``.

    The right operand is a parameter, so that there is something to train; the loss is the mean of the
    squared output. The rows of several samples meet the same right operand, in one product.
    """
    a = net.input("a", (p.m, p.k))
    b = net.parameter("b", (p.k, p.n), inverse_sqrt_uniform(p.k))
    y = net.named("gemm").gemm(net.reshape(a, shape=(-1, p.k)), b)
    net.output(net.reshape(y, shape=(net.batch_size, p.m, p.n)))
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="gemm",
        task="operator",
        source="ONNX Gemm; undertherain/benchmarker, kernel gemm",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=1,
        published=(
            Published(1024**2, 2 * 1024**3),
            Published(7 * 5, 2 * 3 * 5 * 7, {"m": 3, "n": 5, "k": 7}),
        ),
        reduced={"m": 5, "n": 6, "k": 7},
    )
