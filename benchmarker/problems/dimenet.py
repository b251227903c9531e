"""DimeNet: messages between the atoms of a molecule that know the angles between them."""

from __future__ import annotations

import math
from typing import Annotated

from benchmarker.api.optimizer import Optimizer
from benchmarker.api.problem import Problem, Published
from benchmarker.api.rules import MAX_COUNT, Real, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.initializers import glorot_normal
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.problems.layers.molecules import Molecule, require_within
from benchmarker.problems.layers.spherical import bessel_norms, bessel_zeros
from benchmarker.quick_dataclass import dataclass

ENVELOPE = 5
"""Exponent of the envelope's lowest power of the distance (equation 8, with p = 6)."""
SKIPS = (1, 2)
"""Residual layers before and after the skip connection (figure 4)."""
OUTPUT_LAYERS = 3
MAX_TRIPLETS = 2**22
"""Of atoms in a mini-batch, which are listed one by one."""


@dataclass(frozen=True)
class Parameters:
    """Atoms of a molecule, kinds of atoms, and sizes of the network; ``radius`` in angstrom.

    Every sample is the same molecule but for the kinds of its atoms: a helix narrow enough that all of
    its pairs are within ``radius``.
    """

    atoms: Annotated[int, Whole(3, 1000)] = 6
    elements: Annotated[int, Whole(2, MAX_COUNT)] = 95
    width: int = 128
    blocks: int = 6
    bilinear: int = 8
    spherical: Annotated[int, Whole(2, 12)] = 7
    radial: Annotated[int, Whole(1, 64)] = 6
    radius: Annotated[float, Real(above=0.0, most=1000.0)] = 5.0


@dataclass(frozen=True)
class Basis:
    """Distances in terms of radial functions, distances and angles in terms of spherical ones."""

    radial: Value
    spherical: Value


def orthogonal_dense(net: Network, name: str, x: Value, units: int, *, bias: bool = True) -> Value:
    """Fully connected layer whose weight varies as the paper's orthogonal start does (section 6)."""
    return net.dense(name, x, units, bias=bias, start=glorot_normal(x.shape[-1], units))


def envelope(net: Network, d: Value) -> Value:
    """``1/d + a d^(p-1) + b d^p + c d^(p+1)``, with its first two derivatives 0 at ``d = 1`` (equation 8)."""
    p = ENVELOPE + 1
    a, b, c = -(p + 1) * (p + 2) / 2.0, p * (p + 2.0), -p * (p + 1) / 2.0
    square = net.mul(d, d)
    power = net.mul(net.mul(square, square), d)
    polynomial = net.affine(net.mul(d, net.affine(d, alpha=c, beta=b)), beta=a)
    result: Value = net.add(net.reciprocal(d), net.mul(power, polynomial))
    return result


def bessel(net: Network, z: Value, orders: int) -> list[Value]:
    """Return the spherical Bessel functions of ``z`` from order 0, each from the two below it."""
    inverse, sine = net.reciprocal(z), net.sin(z)
    found = [net.mul(sine, inverse)]
    found.append(net.mul(net.sub(found[0], net.cos(z)), inverse))
    for order in range(1, orders - 1):
        raised = net.mul(net.affine(inverse, alpha=2.0 * order + 1.0), found[order])
        found.append(net.sub(raised, found[order - 1]))
    return found[:orders]


def legendre(net: Network, cosine: Value, orders: int) -> Value:
    """Return the spherical harmonics of order 0 of an angle, ``(..., orders)``, by its cosine."""
    found = [net.affine(cosine, alpha=0.0, beta=1.0), cosine]
    for n in range(1, orders - 1):
        raised = net.mul(net.affine(cosine, alpha=(2.0 * n + 1.0) / (n + 1.0)), found[n])
        found.append(net.sub(raised, net.affine(found[n - 1], alpha=n / (n + 1.0))))
    scaled = [
        net.affine(y, alpha=math.sqrt((2 * n + 1) / (4.0 * math.pi))) for n, y in enumerate(found[:orders])
    ]
    result: Value = net.concat(*scaled, axis=-1)
    return result


def spherical_radial(net: Network, d: Value, fall: Value, p: Parameters) -> Value:
    """Return the radial part of the spherical functions (equation 6), ``(pairs, spherical * radial)``."""
    zeros = bessel_zeros(p.spherical, p.radial)
    columns = p.spherical * p.radial
    flat = Distribution("values", values=tuple(z for row in zeros for z in row))
    arguments = net.mul(d, net.constant("bessel.zero", (1, columns), flat))
    parts = [
        net.slice(y, axes=(1,), starts=(order * p.radial,), ends=((order + 1) * p.radial,))
        for order, y in enumerate(bessel(net, arguments, p.spherical))
    ]
    norms = Distribution("values", values=tuple(n for row in bessel_norms(zeros) for n in row))
    scaled = net.mul(net.concat(*parts, axis=1), net.constant("bessel.norm", (1, columns), norms))
    result: Value = net.mul(scaled, fall)
    return result


def basis(net: Network, m: Molecule, p: Parameters) -> Basis:
    """Return the bases of all pairs ``(pairs, radial)`` and of all triplets ``(triplets, spherical * radial)``."""
    to_source, to_third = m.pair_vectors(net), m.triplet_vectors(net)
    square = net.reduce_sum(net.mul(to_source, to_source), axes=(-1,), keepdims=True)
    length = net.sqrt(square)
    d = net.affine(net.reshape(length, shape=(-1, 1)), alpha=1.0 / p.radius)
    fall = envelope(net, d)
    frequencies = Distribution("values", values=tuple(math.pi * n for n in range(1, p.radial + 1)))
    frequency = net.parameter("radial.frequency", (p.radial,), frequencies)
    radial = net.mul(fall, net.sin(net.mul(d, frequency)))

    pair = (net.batch_size, m.atoms, m.atoms - 1, 1)
    near = net.reshape(to_source, shape=(*pair, 3))
    across = net.reduce_sum(net.mul(near, to_third), axes=(-1,), keepdims=True)
    third = net.sqrt(net.reduce_sum(net.mul(to_third, to_third), axes=(-1,), keepdims=True))
    cosine = net.div(across, net.mul(net.reshape(length, shape=(*pair, 1)), third))
    harmonics = legendre(net, net.reshape(cosine, shape=(-1, 1)), p.spherical)
    message = net.reshape(m.message, shape=(-1,))
    distant = net.gather(spherical_radial(net, d, fall, p), message)
    distant = net.reshape(distant, shape=(-1, p.spherical, p.radial))
    both = net.mul(distant, net.reshape(harmonics, shape=(-1, p.spherical, 1)))
    return Basis(radial, net.reshape(both, shape=(-1, p.spherical * p.radial)))


def embed(net: Network, m: Molecule, radial: Value, p: Parameters) -> Value:
    """Return the first message of each pair, of both atoms and their distance, ``(pairs, width)``."""
    start = Distribution("uniform", math.sqrt(3.0))
    x = net.embedding("embedding", net.reshape(m.element, shape=(-1,)), p.elements, p.width, start)
    target = net.reshape(x, shape=(net.batch_size, m.atoms, 1, p.width))
    target = net.expand(target, shape=(net.batch_size, m.atoms, m.atoms - 1, p.width))
    source = net.gather(x, net.reshape(m.neighbour, shape=(-1,)))
    distance = net.silu(net.dense("embedding.radial", radial, p.width))
    both = net.concat(net.reshape(target, shape=(-1, p.width)), source, distance, axis=1)
    result: Value = net.silu(net.dense("embedding.dense", both, p.width))
    return result


def residual(net: Network, name: str, x: Value) -> Value:
    """Two fully connected layers beside a skip connection."""
    width = x.shape[-1]
    y = net.silu(orthogonal_dense(net, f"{name}.dense1", x, width))
    result: Value = net.add(x, net.silu(orthogonal_dense(net, f"{name}.dense2", y, width)))
    return result


def interaction(net: Network, name: str, x: Value, bases: Basis, m: Molecule, p: Parameters) -> Value:
    """Return each pair's message after those that reach its source were heard (figure 4)."""
    own = net.silu(orthogonal_dense(net, f"{name}.own", x, p.width))
    others = net.silu(orthogonal_dense(net, f"{name}.others", x, p.width))
    others = net.mul(others, orthogonal_dense(net, f"{name}.radial", bases.radial, p.width, bias=False))
    others = net.gather(others, net.reshape(m.message, shape=(-1,)))
    angles = orthogonal_dense(net, f"{name}.spherical", bases.spherical, p.bilinear, bias=False)
    product = net.mul(
        net.reshape(angles, shape=(-1, p.bilinear, 1)), net.reshape(others, shape=(-1, 1, p.width))
    )
    rows = net.reshape(product, shape=(-1, p.bilinear * p.width))
    heard = net.dense(
        f"{name}.bilinear", rows, p.width, bias=False, start=Distribution("normal", 2.0 / p.width)
    )
    heard = net.reduce_sum(net.reshape(heard, shape=(-1, m.atoms - 2, p.width)), axes=(1,), keepdims=False)
    y = net.add(own, heard)
    for number in range(SKIPS[0]):
        y = residual(net, f"{name}.before{number + 1}", y)
    y = net.silu(orthogonal_dense(net, f"{name}.dense", y, p.width))
    result: Value = net.add(y, x)
    for number in range(SKIPS[1]):
        result = residual(net, f"{name}.after{number + 1}", result)
    return result


def read_out(net: Network, name: str, x: Value, radial: Value, m: Molecule) -> Value:
    """Return what the messages to each atom add to its energy, ``(N * atoms, 1)``."""
    width = x.shape[-1]
    y = net.mul(orthogonal_dense(net, f"{name}.radial", radial, width, bias=False), x)
    y = net.reduce_sum(net.reshape(y, shape=(-1, m.atoms - 1, width)), axes=(1,), keepdims=False)
    for number in range(OUTPUT_LAYERS):
        y = net.silu(orthogonal_dense(net, f"{name}.dense{number + 1}", y, width))
    # The authors' weight of 0 would leave no gradient to verify.
    return orthogonal_dense(net, f"{name}.energy", y, 1, bias=False)


def build(net: Network, p: Parameters) -> None:
    if net.batch_size * p.atoms**3 > MAX_TRIPLETS:
        raise UsageError(
            f"{net.batch_size} molecules of {p.atoms} atoms have more than {MAX_TRIPLETS} triplets; "
            "take a smaller batch size or fewer atoms"
        )
    require_within(p.atoms, p.radius)
    m = Molecule.declare(net, p.atoms, p.elements)
    energy = net.input("energy", (1,))
    bases = basis(net, m, p)
    x = embed(net, m, bases.radial, p)
    total = read_out(net, "output0", x, bases.radial, m)
    for i in range(1, p.blocks + 1):
        x = interaction(net, f"interaction{i}", x, bases, m, p)
        total = net.add(total, read_out(net, f"output{i}", x, bases.radial, m))
    atoms = net.reshape(total, shape=(net.batch_size, p.atoms))
    predicted = net.reduce_sum(atoms, axes=(1,), keepdims=True)
    net.output(predicted)
    net.loss(net.reduce_mean(net.abs(net.sub(predicted, energy))))


def benchmarker_problem() -> Problem:
    return Problem(
        name="dimenet",
        task="molecular energies",
        source="Gasteiger et al. 2020, arXiv 2003.03123, section 4; sizes and the angle's place: "
        "torch_geometric.nn.models.DimeNet",
        parameters=Parameters,
        build=build,
        optimizer=Optimizer("adam", learning_rate=1e-3),
        batch_size=32,
        published=(Published(2_100_070, 250_045_440), Published(534_950, 63_038_208, {"width": 64})),
        reduced={
            "atoms": 4,
            "elements": 6,
            "width": 12,
            "blocks": 1,
            "bilinear": 3,
            "spherical": 3,
            "radial": 3,
        },
        reduced_batch_size=2,
    )
