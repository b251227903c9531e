"""Which node of the graph the nodes of a model came from, also after an engine has joined and renamed them."""

from __future__ import annotations

from collections.abc import Callable

from benchmarker.graph.onnx.writer.lowering import Lowered
from benchmarker.graph.onnx.writer.nodes import OnnxNode

_JOINED = ("Fused", "Quick", "Fast", "Bias", "Skip")
"""What engines put before an operator's name where they joined others to it."""


class Origins:
    """Which node of the graph a node of the optimized model came from."""

    def __init__(self, lowered: Lowered) -> None:
        self._origins = lowered.origins
        self._nodes: dict[str, OnnxNode] = {node.name: node for node in lowered.nodes}
        self._makers = {value: node for node in lowered.nodes for value in node.outputs}
        self._names = sorted({*self._nodes, *self._makers}, key=len, reverse=True)
        self._known: dict[tuple[str, str], str | None] = {}

    def of(self, name: str, kind: str) -> str | None:
        """Return the graph's node, None if that is not known.

        Parameters
        ----------
        name : str
            Of the node that ran: that of the model's node, or one that an optimization made up of the names
            of nodes and values that it joined.
        kind : str
            Its operator.
        """
        if (name, kind) not in self._known:
            self._known[name, kind] = self._search(name, kind)
        return self._known[name, kind]

    def _search(self, name: str, kind: str) -> str | None:
        if name in self._origins:
            return self._origins[name]
        found = next((known for known in self._names if known in name), None)
        if found is None:
            return None
        node = self._nodes.get(found) or self._makers[found]
        return self._origins[self._nearest(node, kind).name]

    def _nearest(self, node: OnnxNode, kind: str) -> OnnxNode:
        """Return the nearest node of that kind which ``node`` was joined to, itself if there is none."""
        plain = kind
        for prefix in _JOINED:
            plain = plain[len(prefix) :] if plain.startswith(prefix) else plain
        return self.back_to(node, lambda one: one.kind == plain) or node

    def named(self, name: str) -> OnnxNode | None:
        """Return the model's node that an engine calls by its own name, or by that and a ``/`` and more."""
        while name not in self._nodes:
            name, slash, _ = name.rpartition("/")
            if not slash:
                return None
        return self._nodes[name]

    def maker(self, value: str) -> OnnxNode | None:
        """Return the node whose output a value is, None of an input, a parameter or a constant."""
        return self._makers.get(value)

    def back_to(self, node: OnnxNode, wanted: Callable[[OnnxNode], bool]) -> OnnxNode | None:
        """Return the nearest node that is wanted, ``node`` itself or one before it; None if there is none."""
        behind = [node]
        seen = {node.name}
        for one in behind:  # grows: the nearest come first
            if wanted(one):
                return one
            makers = [self._makers[value] for value in one.inputs if value in self._makers]
            behind += [maker for maker in makers if maker.name not in seen]
            seen.update(maker.name for maker in makers)
        return None
