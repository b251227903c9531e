"""Running statistics that several normalizations of one graph share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Shared:
    """A running statistic that several nodes move in one training step.

    MXNet moves it in the order of the backward pass, the graph in that of the forward pass; and its engine
    does not know of these writes, so they might meet. So each node moves a copy of its own, and
    :meth:`settle` brings them together after the step.

    Parameters
    ----------
    name : str
        The statistic.
    copies : mapping
        Node to the name of its copy, in the graph's order.
    momenta : tuple of float
        Of each node.
    """

    name: str
    copies: Mapping[str, str]
    momenta: tuple[float, ...]

    def settle(self, arrays: Mapping[str, Any]) -> None:
        """Move the statistic as the nodes would have, one after the other, and renew their copies.

        A copy is ``m * old + (1 - m) * batch``, so the next node makes of ``moved`` the following.
        """
        old = arrays[self.name]
        first, *rest = (arrays[name] for name in self.copies.values())
        moved = first
        for momentum, copy in zip(self.momenta[1:], rest):
            moved = copy + momentum * (moved - old)
        for array in (old, *rest, first):
            moved.copyto(array)


def shared_statistics(graph: Graph) -> tuple[Shared, ...]:
    """Return the statistics of ``graph`` that more than one node moves."""
    found = []
    for parameter in graph.parameters:
        nodes = [node for node, _ in graph.uses(parameter.name) if parameter.name in node.statistics]
        if len(nodes) > 1:
            copies = {node.name: f"{parameter.name}/{node.name}" for node in nodes}
            momenta = tuple(float(node.attributes["momentum"]) for node in nodes)
            found.append(Shared(parameter.name, copies, momenta))
    return tuple(found)


def own_statistics(shared: Sequence[Shared]) -> dict[tuple[str, str], str]:
    """Return the name of the copy by node and statistic."""
    return {(node, s.name): copy for s in shared for node, copy in s.copies.items()}
