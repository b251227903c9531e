"""How large an index may be: what an input of integers chooses from."""

from __future__ import annotations

from benchmarker.graph.network import Network

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


def _lower(bounds: dict[str, int], name: str, size: int) -> None:
    bounds[name] = min(size, bounds.get(name, size))
