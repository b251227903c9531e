"""Neural collaborative filtering: matrix factorization beside a perceptron."""

from __future__ import annotations

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.glorot import glorot_dense
from benchmarker.quick_dataclass import dataclass

START = Distribution("normal", 0.01)
POSITIVE = 0.2
"""Share of pairs that were seen: four that were not are drawn for each (He et al. 2017, section 4.1)."""

BENCHMARKER = {
    "users": 128,
    "items": 128,
    "factors": 8,
    "embedding": 32,
    "hidden1": 32,
    "hidden2": 16,
    "hidden3": 8,
}
"""The default of undertherain/benchmarker."""


@dataclass(frozen=True)
class Parameters:
    """Rows of the tables (MovieLens 20M), width of the factors and of the perceptron's embeddings and layers."""

    users: int = 138493
    items: int = 26744
    factors: int = 64
    embedding: int = 128
    hidden1: int = 256
    hidden2: int = 128
    hidden3: int = 64


def build(net: Network, p: Parameters) -> None:
    user = net.input("user", (), "int64", Distribution("integers", p.users))
    item = net.input("item", (), "int64", Distribution("integers", p.items))
    seen = net.input("seen", (1,), distribution=Distribution("constant", 1.0, probability=POSITIVE))
    factors = net.mul(
        net.embedding("factors.user", user, p.users, p.factors, START),
        net.embedding("factors.item", item, p.items, p.factors, START),
    )
    x = net.concat(
        net.embedding("mlp.user", user, p.users, p.embedding, START),
        net.embedding("mlp.item", item, p.items, p.embedding, START),
        axis=1,
    )
    for i, units in enumerate((p.hidden1, p.hidden2, p.hidden3), start=1):
        x = net.relu(glorot_dense(net, f"mlp.fc{i}", x, units))
    logit = glorot_dense(net, "score", net.concat(factors, x, axis=1), 1)
    net.output(net.sigmoid(logit))
    net.loss(net.binary_cross_entropy_loss(logit, seen))


def benchmarker_problem() -> Problem:
    return Problem(
        name="ncf",
        task="recommendation",
        source="He et al. 2017, arXiv 1708.05031, section 3.4 (NeuMF); sizes: MLPerf Training v0.5, MovieLens 20M",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=1e-3),
        batch_size=1024,
        published=(
            Published(31_832_577, 213_248),
            Published(589_872_705, 213_248, {"users": 16 * 138493, "items": 32 * 26744}),
            Published(13_001, 5_408, BENCHMARKER),
        ),
        reduced={
            "users": 9,
            "items": 7,
            "factors": 4,
            "embedding": 5,
            "hidden1": 8,
            "hidden2": 6,
            "hidden3": 4,
        },
        reduced_batch_size=8,
    )
