"""What connects ranks, as formulas of sending need it: a latency, a bandwidth and a topology."""

from __future__ import annotations

from benchmarker.quick_dataclass import dataclass

FLAT, TREE, TORUS = "flat", "tree", "torus"


@dataclass(frozen=True)
class Interconnect:
    """What a message between two ranks takes: latency and bytes by bandwidth (Hockney, Parallel Computing 20, 1994).

    Parameters
    ----------
    name : str
        As it is asked for.
    latency_seconds : float
        Of a message without content between neighbours.
    bytes_per_second : float
        What one rank can send, and receive at the same time.
    topology : {"flat", "tree", "torus"}
        ``flat``: every rank is as far from every other. ``tree``: each further level of switches takes the latency
        once more. ``torus``: so does each further hop.
    radix : int
        Ranks or switches below each switch of a tree.
    dimensions : int
        Of a torus.
    source : str
        Where the numbers are from; empty for those that a user gave.
    """

    name: str
    latency_seconds: float
    bytes_per_second: float
    topology: str = FLAT
    radix: int = 32
    dimensions: int = 3
    source: str = ""

    def far_latency(self, ranks: int) -> float:
        """Return the seconds of a message without content between any two of so many ranks.

        In a tree between the farthest ones, in a torus over the mean number of hops, a quarter of each ring.
        """
        if self.topology == TREE:
            levels = 1
            while self.radix**levels < ranks:
                levels += 1
            return self.latency_seconds * levels
        if self.topology == TORUS:
            hops: float = self.dimensions * float(ranks) ** (1 / self.dimensions) / 4
            return self.latency_seconds * max(1.0, hops)
        return self.latency_seconds
