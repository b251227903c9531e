"""Batch normalization of inference becomes part of the convolution before it.

With the running statistics it is one factor and one summand for each channel, which the convolution's weight and
bias take (Jacob et al. 2017, arXiv 1712.05877, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.names import free_name
from benchmarker.graph.types import Distribution, Node, Parameter, TensorType
from benchmarker.quick_dataclass import dataclass

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Folded:
    """What folding gave.

    Parameters
    ----------
    graph : Graph
        Without the batch normalizations that were folded.
    nodes : tuple of str
        Their names.
    values : callable
        From the values of the first graph's parameters to those of this one's: NumPy arrays, each of the type
        that it had, computed in float64.
    """

    graph: Graph
    nodes: tuple[str, ...]
    values: Callable[[Values], dict[str, Any]]


@dataclass(frozen=True)
class _Pair:
    """A convolution and the batch normalization that alone reads its result; ``bias`` is the new name."""

    conv: Node
    norm: Node
    bias: str

    @property
    def joined(self) -> Node:
        x, w = self.conv.inputs[:2]
        return replace(self.conv, inputs=(x, w, self.bias), outputs=self.norm.outputs)


def fold_batch_norm(graph: Graph) -> Folded:
    """Fold each batch normalization that alone reads a convolution's result into that convolution.

    One whose convolution has other readers, or shares its weight with another, is left as it is.

    Parameters
    ----------
    graph : Graph
        Of inference: without a loss.
    """
    pairs = [pair for node in graph.nodes if (pair := _pair(graph, node)) is not None]
    joined = {pair.conv.name: pair.joined for pair in pairs}
    gone = {pair.norm.name for pair in pairs}
    nodes = tuple(joined.get(node.name, node) for node in graph.nodes if node.name not in gone)
    used = {name for node in nodes for name in node.inputs}
    biases = {pair.bias: TensorType(graph.types[pair.norm.inputs[1]].shape) for pair in pairs}
    known = {parameter.name for parameter in graph.parameters}
    added = (
        Parameter(name, type_, Distribution("constant", 0.0))
        for name, type_ in biases.items()
        if name not in known
    )
    parameters = (*(p for p in graph.parameters if p.name in used), *added)
    inner = {pair.conv.outputs[0] for pair in pairs}
    types = {name: type_ for name, type_ in {**graph.types, **biases}.items() if name not in inner}
    folded = replace(graph, nodes=nodes, parameters=parameters, types=types)
    kept = frozenset(p.name for p in parameters)

    def values(given: Values) -> dict[str, Any]:
        changed = dict(given)
        for pair in pairs:
            changed.update(_values(pair, given))
        return {name: value for name, value in changed.items() if name in kept}

    return Folded(folded, tuple(pair.norm.name for pair in pairs), values)


def _pair(graph: Graph, conv: Node) -> _Pair | None:
    if conv.operator != "conv" or conv.outputs[0] in graph.outputs:
        return None
    readers = graph.uses(conv.outputs[0])
    if len(readers) != 1 or readers[0][1] != 0 or readers[0][0].operator != "batch_normalization":
        return None
    norm = readers[0][0]
    parameters = {p.name for p in graph.parameters}
    own = [name for name in conv.inputs[1:3] if name]
    if not parameters.issuperset({*own, *norm.inputs[1:5]}) or any(len(graph.uses(n)) > 1 for n in own):
        return None
    return _Pair(conv, norm, own[1] if len(own) == 2 else free_name(f"{conv.name}.folded_bias", graph.types))


def _values(pair: _Pair, given: Values) -> dict[str, Any]:
    """Return the weight and the bias that do both nodes' work."""
    weight, *bias = pair.conv.inputs[1:3]
    scale, shift, mean, variance = (given[name].astype("float64") for name in pair.norm.inputs[1:5])
    factor = scale / (variance + pair.norm.attributes["epsilon"]) ** 0.5
    w = given[weight]
    before = given[bias[0]].astype("float64") if bias and bias[0] else 0.0
    return {
        weight: (w * factor.reshape(-1, *(1,) * (w.ndim - 1))).astype(w.dtype),
        pair.bias: ((before - mean) * factor + shift).astype(w.dtype),
    }
