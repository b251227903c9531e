"""The molecule that graph networks are measured on: a helix, all of whose atoms are neighbours."""

from __future__ import annotations

import math

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass


def helix(atoms: int) -> list[tuple[float, float, float]]:
    """Return positions in angstrom, neighbours on the chain 2.0 apart and no two atoms nearer."""
    return [(2.0 * math.cos(i), 2.0 * math.sin(i), 0.4 * i) for i in range(atoms)]


def neighbours(atoms: int) -> list[tuple[int, int]]:
    """Return every pair of an atom and another, in order of the first."""
    return [(i, j) for i in range(atoms) for j in range(atoms) if i != j]


def triplets(atoms: int) -> list[tuple[int, int, int]]:
    """Return every pair of an atom and another, with each third one, in order of the pairs."""
    return [(i, j, k) for i, j in neighbours(atoms) for k in range(atoms) if k not in (i, j)]


def pair_distances(atoms: int) -> list[float]:
    """Return the distance of each pair of neighbours in angstrom."""
    positions = helix(atoms)
    return [math.dist(positions[i], positions[j]) for i, j in neighbours(atoms)]


def require_within(atoms: int, radius: float) -> None:
    """Raise unless all atoms are neighbours.

    Raises
    ------
    UsageError
        If two of them are ``radius`` apart or more.
    """
    longest = max(pair_distances(atoms))
    if longest >= radius:
        raise UsageError(
            f"the molecule of {atoms} atoms is {longest:.3g} angstrom long, and 'radius' must be more, "
            f"got {radius:g}; take fewer atoms or a larger radius"
        )


@dataclass(frozen=True)
class Molecule:
    """The inputs that describe a mini-batch of molecules; rows are counted through the whole of it.

    Parameters
    ----------
    atoms : int
        Of each molecule.
    element, position : Value
        Kinds ``(N, atoms)`` and places ``(N, atoms, 3)``.
    neighbour, third : Value
        Row of the other atom of each pair, ``(N, atoms, atoms - 1)``, and of the third one of each triplet,
        ``(N, atoms, atoms - 1, atoms - 2)``.
    message : Value
        Row of the pair of a triplet's second and third atom, of the shape of ``third``.
    """

    atoms: int
    element: Value
    position: Value
    neighbour: Value
    third: Value
    message: Value

    @classmethod
    def declare(cls, net: Network, atoms: int, elements: int) -> Molecule:
        """Declare the inputs."""
        pairs = neighbours(atoms)
        place = {pair: number for number, pair in enumerate(pairs)}
        flat = tuple(coordinate for position in helix(atoms) for coordinate in position)
        others, thirds = (atoms, atoms - 1), (atoms, atoms - 1, atoms - 2)

        def rows(name: str, shape: tuple[int, ...], each: int, numbers: list[int]) -> Value:
            counted = (float(sample * each + n) for sample in range(net.batch_size) for n in numbers)
            return net.input(name, shape, "int64", Distribution("values", values=tuple(counted)), rows=each)

        return cls(
            atoms,
            net.input("element", (atoms,), "int64", Distribution("integers", elements, low=1)),
            net.input("position", (atoms, 3), distribution=Distribution("values", values=flat)),
            rows("neighbour", others, atoms, [j for _, j in pairs]),
            rows("third", thirds, atoms, [k for _, _, k in triplets(atoms)]),
            rows("message", thirds, len(pairs), [place[j, k] for _, j, k in triplets(atoms)]),
        )

    def pair_vectors(self, net: Network) -> Value:
        """Return the way from each atom to its neighbours, ``(N, atoms, atoms - 1, 3)``."""
        return self._ways(net, self.neighbour, (1,))

    def triplet_vectors(self, net: Network) -> Value:
        """Return the way from the first atom of each triplet to its third, ``(N, atoms, atoms - 1, atoms - 2, 3)``."""
        return self._ways(net, self.third, (1, 1))

    def _ways(self, net: Network, rows: Value, ones: tuple[int, ...]) -> Value:
        other = net.gather(net.reshape(self.position, shape=(-1, 3)), rows)
        own = net.reshape(self.position, shape=(net.batch_size, self.atoms, *ones, 3))
        result: Value = net.sub(other, own)
        return result
