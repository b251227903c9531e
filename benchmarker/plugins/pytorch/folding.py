"""What depends on parameters alone, computed once and not in each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def fold(traced: Any, values: Sequence[Any]) -> list[Any]:
    """Compute it; return the values that the function takes now where it took those of parameters.

    Parameters
    ----------
    traced : torch.fx.Graph
        Without dead code; changed in place.
    values : sequence of torch.Tensor
        What it takes first.
    """
    arguments = [node for node in traced.nodes if node.op == "placeholder"]
    known = dict(zip(arguments, values))
    for node in traced.nodes:
        if node.op.startswith("call") and node.all_input_nodes and known.keys() >= set(node.all_input_nodes):
            known[node] = _value(node, known)
    taken = [node for node in known if any(user not in known for user in node.users)]
    first = next(node for node in traced.nodes if node not in known)
    for node in taken:
        with traced.inserting_before(first):
            argument = traced.placeholder(f"known_{node.name}")
        argument.meta = {**node.meta, "node": None}
        for user in [user for user in node.users if user not in known]:
            user.replace_input_with(node, argument)
    for node in reversed(known):
        traced.erase_node(node)
    return [known[node] for node in taken]


def _value(node: Any, known: dict[Any, Any]) -> Any:
    import torch

    args = torch.fx.node.map_arg(node.args, known.__getitem__)
    kwargs = torch.fx.node.map_arg(node.kwargs, known.__getitem__)
    with torch.inference_mode():
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        return node.target(*args, **kwargs)
