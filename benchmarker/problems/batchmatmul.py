"""A batch of products of two matrices."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.initializers import inverse_sqrt_uniform
from benchmarker.graph.network import Network
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Parameters:
    """Products of a sample, and sizes of each, ``m`` x ``k`` by ``k`` x ``n``."""

    matrices: int = 32
    m: int = 512
    n: int = 512
    k: int = 512


def build(net: Network, p: Parameters) -> None:
    """Add the products to ``net``.

    The right operands are a parameter, so that there is something to train; the loss is the mean of the
    squared output. Further samples meet the same right operands, which are broadcast.
    """
    a = net.input("a", (p.matrices, p.m, p.k))
    b = net.parameter("b", (p.matrices, p.k, p.n), inverse_sqrt_uniform(p.k))
    if net.batch_size == 1:  # nothing to broadcast
        a = net.reshape(a, shape=(p.matrices, p.m, p.k))
    y = net.named("matmul").matmul(a, b)
    net.output(net.reshape(y, shape=(net.batch_size, p.matrices, p.m, p.n)))
    net.loss(net.reduce_mean(net.mul(y, y)))


def benchmarker_problem() -> Problem:
    return Problem(
        name="batchmatmul",
        task="operator",
        source="ONNX MatMul; undertherain/benchmarker, kernel batchmatmul (batch of 32)",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.01),
        batch_size=1,
        published=(
            Published(32 * 512**2, 32 * 2 * 512**3),
            Published(2 * 7 * 5, 2 * 2 * 3 * 5 * 7, {"matrices": 2, "m": 3, "n": 5, "k": 7}),
        ),
        reduced={"matrices": 3, "m": 5, "n": 6, "k": 7},
        reduced_batch_size=1,
    )
