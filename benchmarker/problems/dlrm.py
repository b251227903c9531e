"""DLRM for click-through rates: dense and sparse features meet in pairwise products."""

from __future__ import annotations

import math

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.glorot import glorot_normal_dense
from benchmarker.quick_dataclass import dataclass

CRITEO_KAGGLE = (
    *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
    *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
)
"""Distinct values of the 26 categorical features of the Criteo Kaggle data, each a table's rows."""


@dataclass(frozen=True)
class Parameters:
    """Most rows of a table, dense features, and sizes of the layers; ``width`` is that of every vector.

    All 33,762,577 rows of the 26 tables take part with a ``rows`` of 10,131,227 or more.
    """

    rows: int = 10000
    dense: int = 13
    bottom1: int = 512
    bottom2: int = 256
    bottom3: int = 64
    width: int = 16
    top1: int = 512
    top2: int = 256


def perceptron(net: Network, name: str, x: Value, sizes: tuple[int, ...]) -> Value:
    """Fully connected layers with rectifiers, which start as in the paper's program."""
    for i, units in enumerate(sizes, start=1):
        x = net.relu(glorot_normal_dense(net, f"{name}.fc{i}", x, units))
    return x


def pairwise_products(net: Network, vectors: list[Value]) -> Value:
    """Return the product of every two vectors ``(N, width)``, each pair once.

    Their places in the matrix of all products are given by index, as in the paper's program; row by
    row they would be cut out by two small operators a vector.
    """
    count, width = len(vectors), vectors[0].shape[1]
    x = net.reshape(net.concat(*vectors, axis=1), shape=(0, count, width))
    products = net.reshape(net.matmul(x, net.transpose(x, perm=(0, 2, 1))), shape=(0, count * count))
    places = tuple(float(count * i + j) for i in range(count) for j in range(i))
    pair = net.input("pair", (len(places),), "int64", Distribution("values", values=places))
    result: Value = net.gather_elements(products, pair, axis=1)
    return result


def build(net: Network, p: Parameters) -> None:
    x = net.input("dense", (p.dense,), distribution=Distribution("uniform", 1.0, low=0.0))
    clicked = net.input("clicked", (1,), distribution=Distribution("integers", 2))
    x = perceptron(net, "bottom", x, (p.bottom1, p.bottom2, p.bottom3, p.width))
    vectors = [x]
    for i, distinct in enumerate(CRITEO_KAGGLE, start=1):
        rows = min(distinct, p.rows)
        value = net.input(f"category{i}", (), "int64", Distribution("integers", rows))
        start = Distribution("uniform", 1.0 / math.sqrt(rows))
        vectors.append(net.embedding(f"table{i}", value, rows, p.width, start))
    x = net.concat(x, pairwise_products(net, vectors), axis=1)
    x = perceptron(net, "top", x, (p.top1, p.top2))
    logit = glorot_normal_dense(net, "top.score", x, 1)
    net.output(net.sigmoid(logit))
    net.loss(net.binary_cross_entropy_loss(logit, clicked))


def benchmarker_problem() -> Problem:
    return Problem(
        name="dlrm",
        task="recommendation",
        source="Naumov et al. 2019, arXiv 1906.00091, section 2; sizes: facebookresearch/dlrm for Criteo Kaggle",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("sgd", learning_rate=0.1),
        batch_size=128,
        published=(
            Published(2_394_209, 972_064),
            Published(540_677_217, 972_064, {"rows": max(CRITEO_KAGGLE)}),
        ),
        reduced={
            "rows": 5,
            "bottom1": 8,
            "bottom2": 6,
            "bottom3": 6,
            "width": 4,
            "top1": 8,
            "top2": 6,
        },
        reduced_batch_size=8,
    )
