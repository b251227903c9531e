"""SchNet: continuous-filter convolutions between the atoms of a molecule."""

from __future__ import annotations

import math
from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Real, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.glorot import glorot_dense
from benchmarker.problems.layers.molecules import (
    helix,
    neighbours,
    pair_distances,
    require_within,
)
from benchmarker.quick_dataclass import dataclass

QM9 = {"width": 64, "interactions": 3, "gaussians": 300, "radius": 30.0}
"""Sizes of the paper's network for QM9."""
MAX_PAIRS = 2**24
"""Of atoms in a mini-batch, which are listed one by one."""


@dataclass(frozen=True)
class Parameters:
    """Atoms of a molecule, kinds of atoms, and sizes of the network; ``radius`` in angstrom.

    Every sample is the same molecule but for the kinds of its atoms: a helix narrow enough that all of
    its pairs are within ``radius``.
    """

    atoms: Annotated[int, Whole(2, 1000)] = 18
    elements: Annotated[int, Whole(2, MAX_COUNT)] = 100
    width: int = 128
    interactions: int = 6
    gaussians: Annotated[int, Whole(2, 10_000)] = 50
    radius: Annotated[float, Real(above=0.0, most=1000.0)] = 10.0


def cosine_cutoff(distance: float, radius: float) -> float:
    """Fall from 1 at no distance to 0 at ``radius``."""
    return 0.5 * (math.cos(math.pi * distance / radius) + 1.0)


def shifted_softplus(net: Network, x: Value) -> Value:
    """``log(1 + exp(x)) - log(2)`` (section 4.2)."""
    result: Value = net.affine(net.softplus(x), beta=-math.log(2.0))
    return result


def distances(net: Network, neighbour: Value, positions: list[tuple[float, float, float]]) -> Value:
    """Return the distance of each pair, ``(N * pairs, 1)``."""
    atoms = len(positions)
    flat = tuple(coordinate for position in positions for coordinate in position)
    position = net.input("position", (atoms, 3), distribution=Distribution("values", values=flat))
    other = net.gather(net.reshape(position, shape=(-1, 3)), neighbour)
    own = net.reshape(position, shape=(net.batch_size, atoms, 1, 3))
    difference = net.sub(other, own)
    square = net.reduce_sum(net.mul(difference, difference), axes=(-1,))
    result: Value = net.reshape(net.sqrt(square), shape=(-1, 1))
    return result


def expansion(net: Network, distance: Value, gaussians: int, radius: float) -> Value:
    """Return Gaussians of the distance, evenly from 0 to ``radius``, ``(N * pairs, gaussians)``."""
    step = radius / (gaussians - 1)
    centres = Distribution("values", values=tuple(step * i for i in range(gaussians)))
    shifted = net.sub(distance, net.constant("gaussian.centre", (gaussians,), centres))
    result: Value = net.exp(net.affine(net.mul(shifted, shifted), alpha=-0.5 / step**2))
    return result


def interaction(
    net: Network, name: str, x: Value, features: Value, cutoff: Value, neighbour: Value, width: int
) -> Value:
    """Return what the neighbours of each atom add to its features ``(N * atoms, width)`` (figure 2)."""
    w = shifted_softplus(net, glorot_dense(net, f"{name}.filter1", features, width))
    w = net.mul(glorot_dense(net, f"{name}.filter2", w, width), cutoff)
    y = net.gather(glorot_dense(net, f"{name}.in", x, width, bias=False), neighbour)
    messages = net.mul(y, net.reshape(w, shape=y.shape))
    y = net.reshape(net.reduce_sum(messages, axes=(2,)), shape=(-1, width))
    y = shifted_softplus(net, glorot_dense(net, f"{name}.out", y, width))
    return glorot_dense(net, f"{name}.dense", y, width)


def build(net: Network, p: Parameters) -> None:
    if net.batch_size * p.atoms**2 > MAX_PAIRS:
        raise UsageError(
            f"{net.batch_size} molecules of {p.atoms} atoms have more than {MAX_PAIRS} pairs of neighbours; "
            "take a smaller batch size or fewer atoms"
        )
    positions, pairs = helix(p.atoms), neighbours(p.atoms)
    require_within(p.atoms, p.radius)
    others = p.atoms - 1
    rows = (float(sample * p.atoms + j) for sample in range(net.batch_size) for _, j in pairs)
    kind = net.input("element", (p.atoms,), "int64", Distribution("integers", p.elements, low=1))
    table = Distribution("values", values=tuple(rows))
    neighbour = net.input("neighbour", (p.atoms, others), "int64", table, rows=p.atoms)
    # It depends on positions alone: part of the data.
    falling = Distribution(
        "values", values=tuple(cosine_cutoff(d, p.radius) for d in pair_distances(p.atoms))
    )
    cutoff = net.reshape(net.input("cutoff", (p.atoms, others), distribution=falling), shape=(-1, 1))
    energy = net.input("energy", (1,))

    features = expansion(net, distances(net, neighbour, positions), p.gaussians, p.radius)
    x = net.embedding("embedding", net.reshape(kind, shape=(-1,)), p.elements, p.width)
    for i in range(1, p.interactions + 1):
        y = interaction(net, f"interaction{i}", x, features, cutoff, neighbour, p.width)
        x = net.add(x, y)
    x = shifted_softplus(net, glorot_dense(net, "readout1", x, p.width // 2))
    x = net.reshape(glorot_dense(net, "readout2", x, 1), shape=(net.batch_size, p.atoms))
    predicted = net.reduce_sum(x, axes=(1,), keepdims=True)
    net.output(predicted)
    net.loss(net.mean_squared_error_loss(predicted, energy))


def benchmarker_problem() -> Problem:
    return Problem(
        name="schnet",
        task="molecular energies",
        source="Schuett et al. 2017, arXiv 1706.08566, section 4; sizes: torch_geometric.nn.models.SchNet",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=1e-3),
        batch_size=32,
        published=(
            Published(455_809, 94_576_896),
            Published(116_033, 44_173_440, QM9),
        ),
        reduced={"atoms": 4, "elements": 6, "width": 8, "interactions": 2, "gaussians": 7},
    )
