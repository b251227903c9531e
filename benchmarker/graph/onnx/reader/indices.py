"""How large an index may be: what an input of integers chooses from."""

from __future__ import annotations

from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution, Node

_MOVING = ("reshape", "transpose", "concat", "split", "slice", "expand", "stop_gradient")
"""Operators that move integers and leave their values."""


def index_bounds(network: Network) -> dict[str, int]:
    """Return for each value that is used as an index the number of things it chooses from.

    Parameters
    ----------
    network : Network
        Finished but for its outputs.

    Returns
    -------
    dict
        Name of an input, or of what was moved from it, to the smallest of the sizes that it indexes.
    """
    bounds: dict[str, int] = {}
    for node in reversed(network.nodes):
        if node.operator in ("gather", "gather_elements"):
            _lower(bounds, node.inputs[1], network.types[node.inputs[0]].shape[node.attributes["axis"]])
        elif node.operator == "softmax_cross_entropy_loss":
            _lower(bounds, node.inputs[1], network.types[node.inputs[0]].shape[1])
        if node.operator in _MOVING:
            known = [bounds[name] for name in node.outputs if name in bounds]
            for name in node.inputs if known else ():
                _lower(bounds, name, min(known))
    return bounds


_FROM_FRONT = (*_MOVING, "add", "mul", "minimum", "reduce_sum", "reduce_max", "cum_sum", "integer_div", "mod")
"""Operators over integers of at least 0 that give such."""


def is_from_front(network: Network, name: str) -> bool:
    """Whether an integer of the graph is known to be at least 0: an input, or made of such."""
    made = {output for node in network.nodes for output in node.outputs}
    given = (known for known in network.types if known not in made)
    found = {known for known in given if _starts_at_zero(network.initializer(known))}
    for node in network.nodes:
        if _gives_from_front(node, found, network.types[node.inputs[0]].dtype):
            found.update(node.outputs)
    return name in found


def _starts_at_zero(given: Distribution | None) -> bool:
    return given is None or min(given.values or (given.scale,)) >= 0.0


def _gives_from_front(node: Node, found: set[str], dtype: str) -> bool:
    """Whether a node's integers are at least 0, where those in ``found`` are."""
    if node.operator == "cast":
        return dtype == "bool"
    if node.operator in ("arg_max", "top_k_indices"):
        return True
    if node.operator in ("gather", "gather_elements"):
        return node.inputs[0] in found
    if node.operator == "maximum":
        return not found.isdisjoint(node.inputs)
    chosen = node.inputs[1:] if node.operator == "where" else node.inputs
    return node.operator in (*_FROM_FRONT, "where") and found.issuperset(chosen)


def _lower(bounds: dict[str, int], name: str, size: int) -> None:
    bounds[name] = min(size, bounds.get(name, size))
